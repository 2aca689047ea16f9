// Values as people read them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const STEPS = [[60, "second"], [60, "minute"], [24, "hour"], [30.4375, "day"], [12, "month"], [Infinity, "year"]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const absolute = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" });

export function bytes(count) {
  let unit = 0;
  while (count >= 1023.5 && unit < UNITS.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${count < 999.5 ? Number(count.toPrecision(3)) : Math.round(count)} ${UNITS[unit]}`;
}

export function number(count) {
  return count.toLocaleString("en");
}

export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

export function ago(date, now = Date.now()) {
  let amount = (date.getTime() - now) / 1000;
  for (const [size, unit] of STEPS) {
    if (Math.abs(amount) < size) return relative.format(Math.round(amount), unit);
    amount /= size;
  }
  return "";
}

export function moment(date) {
  return absolute.format(date);
}

export function natural(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
