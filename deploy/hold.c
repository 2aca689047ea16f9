/*
 * Holds an image: it waits, and ends at once on SIGTERM or SIGINT.
 *
 * As PID 1 of a container it has no default action for signals, so it takes them itself. It is
 * linked statically: on nodes that cannot mount image volumes it runs in the held image, which may
 * hold nothing else.
 *
 *     hold           waits
 *     hold PATH      copies itself to PATH, executable for everyone, and ends
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXECUTABLE 0755

static int failed(const char *what)
{
	perror(what);
	return 1;
}

static int copied(int from, int to)
{
	char buffer[65536];
	ssize_t count;

	while ((count = read(from, buffer, sizeof buffer)) > 0)
		for (ssize_t done = 0; done < count;) {
			ssize_t written = write(to, buffer + done, count - done);
			if (written < 0)
				return 0;
			done += written;
		}
	return count == 0;
}

/* Under another name first: a copy that is cut off is never taken for the program. */
static int copy_to(const char *path)
{
	char made[4096];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (from < 0)
		return failed("/proc/self/exe");
	if (snprintf(made, sizeof made, "%s.new", path) >= (int)sizeof made) {
		fputs("the path is too long\n", stderr);
		return 1;
	}
	int to = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, EXECUTABLE);
	if (to < 0)
		return failed(made);
	if (!copied(from, to) || fchmod(to, EXECUTABLE) != 0 || close(to) != 0)
		return failed(made);
	if (rename(made, path) != 0)
		return failed(path);
	return 0;
}

/* Signals are blocked and fetched, so that none is lost between two waits. */
static int hold(void)
{
	sigset_t signals;
	int number;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return failed("sigprocmask");
	while (sigwait(&signals, &number) == 0) {
		if (number != SIGCHLD)
			return 0;
		while (waitpid(-1, NULL, WNOHANG) > 0) /* orphans that PID 1 inherits */
			;
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		fputs("usage: hold [PATH]\n", stderr);
		return 2;
	}
	return argc == 2 ? copy_to(argv[1]) : hold();
}
