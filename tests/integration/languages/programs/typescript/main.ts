import * as fs from "fs";

type Mode = "hello" | "sum" | "crash" | "loop" | "deep" | "hog";
const [mode, ...numbers] = fs.readFileSync(0, "utf8").split(/\s+/) as [Mode, ...string[]];
function depth(n: number): number {
  return n === 0 ? 0 : 1 + depth(n - 1);
}
enum Fault { Crashed = "crashed" }
switch (mode) {
  case "hello": console.log("héllo, wörld ✓"); break;
  case "sum": console.log(String(numbers.filter((n) => n).reduce((total: number, n: string) => total + Number(n), 0))); break;
  case "crash": throw new Error(Fault.Crashed);
  case "loop": while (true);
  case "deep": console.log(String(depth(100000))); break;
  case "hog": { const held: number[][] = []; while (true) held.push(new Array<number>(100000).fill(held.length)); }
}
