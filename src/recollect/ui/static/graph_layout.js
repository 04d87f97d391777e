// Worker: places the nodes of a graph. Edges pull, near nodes push, and everything is drawn to the middle.
//
// Only nodes within REACH push each other, found by a grid, so a step takes time in proportion to the number of nodes.
// Positions are posted as they improve: the first after a few steps.

const STEPS = 180, SHOWN_EVERY = 12;
const REACH = 60, LENGTH = 26, PUSH = 260, PULL = 0.06, GRAVITY = 0.0035;

onmessage = ({ data: { count, edges } }) => {
  const x = new Float32Array(count), y = new Float32Array(count), movedX = new Float32Array(count), movedY = new Float32Array(count);
  for (let node = 0; node < count; node++) { // a sunflower: even, and the same each time
    const radius = 14 * Math.sqrt(node + 0.5), angle = node * 2.399963;
    x[node] = radius * Math.cos(angle);
    y[node] = radius * Math.sin(angle);
  }
  const degree = new Uint16Array(count);
  for (const node of edges) degree[node]++;
  for (let step = 0; step < STEPS; step++) {
    const heat = 18 * (1 - step / STEPS) + 0.5;
    movedX.fill(0);
    movedY.fill(0);
    push(x, y, movedX, movedY);
    pull(edges, degree, x, y, movedX, movedY);
    for (let node = 0; node < count; node++) {
      const dx = movedX[node] - x[node] * GRAVITY, dy = movedY[node] - y[node] * GRAVITY, far = Math.hypot(dx, dy) || 1, by = Math.min(far, heat) / far;
      x[node] += dx * by;
      y[node] += dy * by;
    }
    if (step % SHOWN_EVERY === SHOWN_EVERY - 1 || step === STEPS - 1) postMessage({ x: x.slice(), y: y.slice(), done: step === STEPS - 1 });
  }
};

function push(x, y, movedX, movedY) {
  const count = x.length, left = least(x), top = least(y), columns = cell(-least(x.map((at) => -at)), left) + 3, rows = cell(-least(y.map((at) => -at)), top) + 3;
  const starts = new Int32Array(columns * rows + 1), cells = new Int32Array(count), order = new Int32Array(count);
  for (let node = 0; node < count; node++) starts[(cells[node] = (cell(y[node], top) + 1) * columns + cell(x[node], left) + 1)]++;
  for (let at = 1; at < starts.length; at++) starts[at] += starts[at - 1];
  for (let node = 0; node < count; node++) order[--starts[cells[node]]] = node; // nodes by cell: those of a cell are neighbours
  for (let node = 0; node < count; node++) {
    for (let down = -columns; down <= columns; down += columns) {
      const first = starts[cells[node] + down - 1], last = starts[cells[node] + down + 2]; // three cells side by side
      for (let at = first; at < last; at++) {
        const other = order[at];
        if (other <= node) continue;
        const dx = x[node] - x[other] || 0.01, dy = y[node] - y[other] || 0.01, square = dx * dx + dy * dy;
        if (square > REACH * REACH) continue;
        const by = PUSH / (square + 12) * 0.5;
        movedX[node] += dx * by; movedY[node] += dy * by;
        movedX[other] -= dx * by; movedY[other] -= dy * by;
      }
    }
  }
}

const least = (values) => values.reduce((one, other) => Math.min(one, other));
const cell = (at, from) => Math.floor((at - from) / REACH);

function pull(edges, degree, x, y, movedX, movedY) {
  for (let at = 0; at < edges.length; at += 2) {
    const one = edges[at], other = edges[at + 1], dx = x[other] - x[one], dy = y[other] - y[one], far = Math.hypot(dx, dy) || 1;
    const by = PULL * (far - LENGTH) / far / Math.sqrt(Math.min(degree[one], degree[other]) || 1);
    movedX[one] += dx * by * 2; movedY[one] += dy * by * 2;
    movedX[other] -= dx * by * 2; movedY[other] -= dy * by * 2;
  }
}
