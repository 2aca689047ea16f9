// How long the last piece of work of a name took, for the developer tools and the benchmark.

export function measured(name, work) {
  performance.clearMarks(name);
  performance.clearMeasures(name);
  performance.mark(name);
  work();
  performance.measure(name, name);
}
