import std.algorithm, std.array, std.conv, std.stdio;

__gshared int turns;

long depth(long n) { return n == 0 ? 0 : 1 + depth(n - 1); }

void main() {
    string[] words = stdin.byLineCopy.map!(line => line.split).join;
    switch (words[0]) {
        case "hello": writeln("héllo, wörld ✓"); break;
        case "sum": writeln(words[1 .. $].map!(to!long).sum); break;
        case "crash": throw new Exception("crashed");
        case "loop": while (true) turns++;
        case "deep": writeln(depth(100_000)); break;
        case "hog": { ubyte[][] held; while (true) { auto block = new ubyte[1_000_000]; block[] = 1; held ~= block; } }
        default: break;
    }
}
