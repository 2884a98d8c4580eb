using System;
using System.Collections.Generic;
using System.Linq;
using System.Numerics;

class Program {
    static volatile int turns;
    static int Depth(int n) { return n == 0 ? 0 : 1 + Depth(n - 1); }

    static void Main() {
        string mode = Console.ReadLine().Trim();
        switch (mode) {
            case "hello": Console.WriteLine("héllo, wörld ✓"); break;
            case "sum":
                BigInteger total = 0;
                string line;
                while ((line = Console.ReadLine()) != null)
                    total += line.Split(new[] {' '}, StringSplitOptions.RemoveEmptyEntries).Select(long.Parse).Sum();
                Console.WriteLine(total);
                break;
            case "crash": throw new InvalidOperationException("crashed");
            case "loop": while (true) turns++;
            case "deep": Console.WriteLine(Depth(100000)); break;
            case "hog":
                var held = new List<byte[]>();
                while (true) { var block = new byte[1000000]; for (int i = 0; i < block.Length; i += 512) block[i] = 1; held.Add(block); }
        }
    }
}
