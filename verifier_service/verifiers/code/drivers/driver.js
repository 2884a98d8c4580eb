// Calls the submission's entry point with arguments that come as JSON, one line a case, and writes each result as JSON.
// Nothing here knows what a result should be. What the submission patches it patches for its own answers only.
"use strict";
const fs = require("fs");
const vm = require("vm");

const leave = process.reallyExit.bind(process);
const MOST_NODES = 200000;
const MOST_DEPTH = 2000;
let caseNumber = 0;
let input = null;

// Read everything, so that the submission finds an empty stdin.
function begin() {
  if (input === null) input = fs.readFileSync(0, "utf8");
}

function writeAll(fd, text) {
  let rest = Buffer.from(text, "utf8");
  while (rest.length) {
    try {
      rest = rest.subarray(fs.writeSync(fd, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") leave(1);
    }
  }
}

function report(kind, json) {
  writeAll(1, `\n\x1everifier-driver ${caseNumber} ${kind} ${json}\n`);
}

function giveUp(kind, why) {
  report(kind, JSON.stringify(String(why)));
  leave(1);
}

function crash(error) {
  let text = "an exception that can't be shown";
  try {
    text = String((error && error.stack) || error);
  } catch {}
  writeAll(2, text + "\n");
  leave(1);
}

// ---- arguments

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
const BIG = "\u0000bigint";

// Integers that a number can't hold become BigInt.
function parse(line) {
  if (!/\d{16}/.test(line)) return JSON.parse(line);
  const marked = line.replace(TOKEN, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `{${JSON.stringify(BIG)}:"${token}"}` : token
  );
  return JSON.parse(marked, (_, value) => (value && typeof value === "object" && BIG in value ? BigInt(value[BIG]) : value));
}

function makeNode(Kind, value) {
  const node = new Kind(value);
  node.val = value;
  return node;
}

function toList(values, Kind) {
  let head = null;
  for (let index = values.length - 1; index >= 0; index--) {
    const node = makeNode(Kind, values[index]);
    node.next = head;
    head = node;
  }
  return head;
}

function toTree(values, Kind) {
  if (!values.length || values[0] === null) return null;
  const nodes = [makeNode(Kind, values[0])];
  nodes[0].left = nodes[0].right = null;
  for (let index = 1, parent = 0; index < values.length && parent < nodes.length; index++) {
    const node = values[index] === null ? null : makeNode(Kind, values[index]);
    if (node) {
      node.left = node.right = null;
      nodes.push(node);
    }
    nodes[parent][index % 2 ? "left" : "right"] = node;
    if (index % 2 === 0) parent++;
  }
  return nodes[0];
}

function asNodes(value, hint, kinds) {
  if (!hint || !Array.isArray(value)) return value;
  if (hint.startsWith("[")) return value.map((item) => asNodes(item, hint.slice(1), kinds));
  return hint === "TreeNode" ? toTree(value, kinds.TreeNode) : toList(value, kinds.ListNode);
}

// ---- results

class Unwritable extends Error {}

function fromList(node) {
  const values = [];
  for (; node; node = node.next) {
    if (values.length >= MOST_NODES) giveUp("failed", "the result is a linked list without end");
    values.push(node.val);
  }
  return values;
}

function fromTree(root) {
  const values = [];
  const waiting = [root];
  for (let index = 0; index < waiting.length; index++) {
    if (index >= MOST_NODES) giveUp("failed", "the result is a tree without end");
    const node = waiting[index];
    values.push(node ? node.val : null);
    if (node) waiting.push(node.left, node.right);
  }
  while (values.length && values[values.length - 1] === null) values.pop();
  return values;
}

function writeObject(value, depth) {
  const kind = value.constructor && value.constructor.name;
  if (kind === "ListNode") return write(fromList(value), depth);
  if (kind === "TreeNode") return write(fromTree(value), depth);
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    const items = [];
    for (let index = 0; index < value.length; index++) items.push(write(value[index], depth));
    return `[${items.join(",")}]`;
  }
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return write(value.valueOf(), depth);
  let entries;
  if (value instanceof Set) return write([...value], depth);  // in order of insertion, as for a caller who spreads it
  if (value instanceof Map) entries = [...value];
  else if (value[Symbol.iterator] || value instanceof Date || value instanceof RegExp || value instanceof Promise || value instanceof Error)
    throw new Unwritable(`the result is a ${kind || "special object"}, not plain data`);
  else entries = Object.entries(value).filter(([, item]) => item !== undefined && typeof item !== "function");
  return `{${entries.map(([name, item]) => `${JSON.stringify(keyOf(name))}:${write(item, depth)}`).join(",")}}`;
}

function keyOf(name) {
  if (typeof name === "object" || typeof name === "function" || typeof name === "symbol" || name === undefined)
    throw new Unwritable("the result is a Map with keys that JSON can't have");
  return String(name);
}

function write(value, depth = 0) {
  if (depth > MOST_DEPTH) throw new Unwritable("the result is nested too deeply");
  switch (typeof value) {
    case "undefined":
      return "null";
    case "boolean":
      return value ? "true" : "false";
    case "number":
      return Number.isFinite(value) ? String(value) : Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    case "bigint":
      return value.toString();
    case "string":
      return JSON.stringify(value);
    case "object":
      return value === null ? "null" : writeObject(value, depth + 1);
    default:
      throw new Unwritable(`the result is a ${typeof value}, not plain data`);
  }
}

// ---- the submission

class ListNode {
  constructor(val, next) {
    this.val = val === undefined ? 0 : val;
    this.next = next === undefined ? null : next;
  }
}

class TreeNode {
  constructor(val, left, right) {
    this.val = val === undefined ? 0 : val;
    this.left = left === undefined ? null : left;
    this.right = right === undefined ? null : right;
  }
}

Object.assign(globalThis, { ListNode, TreeNode });

function capture(task) {
  const names = [task.entry, "Solution", "ListNode", "TreeNode"];
  return `{ ${names.map((name) => `"${name}": typeof ${name} === "undefined" ? undefined : ${name}`).join(", ")} }`;
}

const OF_MODULES = /import statement|Unexpected token 'export'|import call|import\.meta|await is only valid|top-level await/;

// A script as CommonJS has it, or where that can't be, a module: the names of its top level, and what it exports.
async function load(file, task) {
  const source = fs.readFileSync(file, "utf8").replace(/^#!.*/, "");
  const module = { exports: {} };
  const own = `${process.cwd()}/${file}`;
  let run;
  try {
    const text = `${source}\n;return ${capture(task)}`;
    run = vm.compileFunction(text, ["exports", "require", "module", "__filename", "__dirname"], { filename: file });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (!OF_MODULES.test(error.message)) giveUp("compile", `${String(error.stack).split("\n")[0]} ${error}`);
    return loadModule(source, task);
  }
  const requiring = Object.assign((name) => require(name), { main: module, cache: require.cache, resolve: require.resolve });
  return { names: run.call(module.exports, module.exports, requiring, module, own, process.cwd()) || {}, exported: module.exports };
}

async function loadModule(source, task) {
  const place = Symbol.for("verifier-driver");
  fs.writeFileSync("solution.mjs", `${source}\n;globalThis[Symbol.for("verifier-driver")] = ${capture(task)};\n`);
  try {
    const exported = await import(`${process.cwd()}/solution.mjs`);
    return { names: globalThis[place] || {}, exported };
  } catch (error) {
    if (error instanceof SyntaxError && !globalThis[place]) giveUp("compile", `SyntaxError: ${error.message}`);
    throw error;
  }
}

function entryOf({ names, exported }, entry) {
  if (typeof names[entry] === "function") return names[entry];
  const out = exported && typeof exported.default === "object" && exported.default ? exported.default : exported || {};
  if (typeof out[entry] === "function") return out[entry].bind(out);
  const Solution = names.Solution || out.Solution;
  if (typeof Solution === "function") {
    const object = Solution.prototype && typeof Solution.prototype[entry] !== "function" && Solution[entry] ? Solution : new Solution();
    if (typeof object[entry] === "function") return object[entry].bind(object);
  } else if (Solution && typeof Solution[entry] === "function") {
    return Solution[entry].bind(Solution);
  }
  for (const one of [exported, exported && exported.default]) {
    if (typeof one === "function" && (one.name === entry || !/^class\b/.test(Function.prototype.toString.call(one)))) return one;
  }
  return giveUp("failed", `the submission has no function ${entry}, nor a method of class Solution of that name`);
}

async function answer(loaded, task, line) {
  const kinds = { ListNode: loaded.names.ListNode || ListNode, TreeNode: loaded.names.TreeNode || TreeNode };
  const given = parse(line).map((value, index) => asNodes(value, task.hints[index], kinds));
  const result = await entryOf(loaded, task.entry)(...given);
  if (task.inplace !== null) return given[task.inplace] === null && task.hints[task.inplace] ? [] : given[task.inplace];
  return (result === null || result === undefined) && task.result ? [] : result;
}

// `find` gives what the submission defines; `task` is {entry, inplace, hints, result}, hints per argument.
async function serve(find, task) {
  try {
    begin();
    const lines = input.split("\n").filter(Boolean);
    const loaded = await find();
    for (const line of lines) {
      const result = await answer(loaded, task, line);
      let json;
      try {
        json = write(result);
      } catch (error) {
        if (!(error instanceof Unwritable)) throw error;
        giveUp("unwritable", error.message);
      }
      report("answer", json);
      caseNumber++;
    }
    leave(0);
  } catch (error) {
    crash(error);
  }
}

module.exports = { begin, load, serve };
