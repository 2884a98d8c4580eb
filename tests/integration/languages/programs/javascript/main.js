const [mode, ...numbers] = require("fs").readFileSync(0, "utf8").split(/\s+/);
const depth = (n) => (n === 0 ? 0 : 1 + depth(n - 1));
if (mode === "hello") console.log("héllo, wörld ✓");
if (mode === "sum") console.log(String(numbers.filter((n) => n).reduce((total, n) => total + Number(n), 0)));
if (mode === "crash") throw new Error("crashed");
if (mode === "loop") while (true);
if (mode === "deep") console.log(String(depth(100000)));
if (mode === "hog") {
  const held = [];
  while (true) held.push(new Array(100000).fill(held.length));
}
