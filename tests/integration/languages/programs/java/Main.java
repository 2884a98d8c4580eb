import java.io.*;
import java.util.*;

public class Main {
    static volatile int turns;

    static long depth(long n) {
        return n == 0 ? 0 : 1 + depth(n - 1);
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        switch (in.readLine().trim()) {
            case "hello" -> System.out.println("héllo, wörld ✓");
            case "sum" -> {
                long total = 0;
                for (String line; (line = in.readLine()) != null; )
                    for (StringTokenizer words = new StringTokenizer(line); words.hasMoreTokens(); )
                        total += Long.parseLong(words.nextToken());
                System.out.println(total);
            }
            case "crash" -> throw new IllegalStateException("crashed");
            case "loop" -> { while (true) turns++; }
            case "deep" -> System.out.println(depth(100_000));
            case "hog" -> { List<byte[]> held = new ArrayList<>(); while (true) held.add(new byte[1_000_000]); }
        }
    }
}
