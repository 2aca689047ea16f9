# What the checks share. REGISTRY is where `lading up` serves its registry, as it prints it.
REGISTRY="${REGISTRY:-127.0.0.1:5000}"
NODES="$(dirname "$KUBECONFIG")/nodes"

# The manifests with the address of this registry.
manifests() {
  sed "s|127.0.0.1:5000|$REGISTRY|g" "$@"
}

# Waits until the output of a command has a text: `until_shown TEXT COMMAND...`
until_shown() {
  text="$1"
  shift
  for _ in $(seq 120); do
    if "$@" 2>&1 | grep -q -e "$text"; then return 0; fi
    sleep 1
  done
  fail "no '$text' within 120 s in the output of: $*"
}

# Ends with a failure when the text is there: `never_shown TEXT COMMAND...`
never_shown() {
  text="$1"
  shift
  if "$@" | grep -q -e "$text"; then fail "'$text' is in the output of: $*"; fi
}

fail() {
  echo "failed: $*" >&2
  exit 1
}

checked() {
  echo "ok: $*"
}
