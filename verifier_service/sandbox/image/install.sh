#!/bin/sh
# Installs one profile's packages, prepares what every compilation would otherwise do again, and removes what no submission
# needs; all in one layer of the image. Usage: install.sh PACKAGE...
set -eu
export DEBIAN_FRONTEND=noninteractive
[ $# -gt 0 ] || exit 0

for unwanted in doc man info locale lintian bug gtk-doc; do
    echo "path-exclude=/usr/share/$unwanted/*"
done >/etc/dpkg/dpkg.cfg.d/lean
# Some packages want to put links there.
mkdir -p /var/cache/apt/archives/partial /usr/share/man/man1
apt-get update
apt-get install -y --no-install-recommends "$@"

# C++: most submissions include everything, and reading that takes two thirds of a compilation. A precompiled header is
# used only where its flags are the compilation's own, so these are those of the table of languages.
for header in /usr/include/*/c++/*/bits/stdc++.h; do
    if [ -f "$header" ] && [ ! -e "$header.gch" ]; then
        mkdir "$header.gch"
        for standard in 17 20; do
            g++ "-std=gnu++$standard" -O2 -x c++-header -o "$header.gch/$standard" "$header"
        done
    fi
done

# Go: the standard library compiled once, and a list of its parts for the compiler and the linker.
goroot=$(go env GOROOT 2>/dev/null || true)
if [ -n "$goroot" ] && [ ! -e /opt/verifier/go.importcfg ]; then
    GOCACHE=/tmp/go GO111MODULE=off CGO_ENABLED=0 GODEBUG=installgoroot=all go install std
    mkdir -p /opt/verifier
    (cd "$goroot"/pkg/linux_* && find . -name '*.a' | sed "s|^\./\(.*\)\.a$|packagefile \1=$PWD/\1.a|") >/opt/verifier/go.importcfg
    for tool in "$goroot"/pkg/tool/*/*; do
        case ${tool##*/} in compile | link | asm) ;; *) rm "$tool" ;; esac
    done
    rm -rf /usr/share/go-*/src /usr/share/go-*/test /usr/share/go-*/api /usr/lib/go-*/bin/gofmt
fi

# Rust: the debug information of the standard library, which is more than half of it.
for library in /usr/lib/rustlib/*/lib/*.rlib; do
    [ ! -f "$library" ] || strip --strip-debug "$library"
done

# Java: the compiler's own classes, ready to be mapped. It is compiled to with these options and no others.
if command -v javac >/dev/null && [ ! -e /opt/verifier/javac.jsa ]; then
    mkdir -p /opt/verifier /tmp/java
    cat >/tmp/java/Main.java <<'JAVA'
import java.io.*;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

public class Main {
    record Pair<T>(T first, int second) {}
    sealed interface Shape permits Circle, Square {}
    record Circle(double radius) implements Shape {}
    record Square(double side) implements Shape {}
    enum Colour { RED, GREEN }

    static class Node<T extends Comparable<T>> {
        T value;
        Node<T> next;
        Node(T value) { this.value = value; }
    }

    static double area(Shape shape) {
        return switch (shape) {
            case Circle c -> Math.PI * c.radius() * c.radius();
            case Square s -> s.side() * s.side();
        };
    }

    public static void main(String[] args) throws IOException {
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in));
        Scanner scanner = new Scanner("1 2");
        Map<String, List<Integer>> map = new TreeMap<>();
        PriorityQueue<int[]> queue = new PriorityQueue<>((a, b) -> a[0] - b[0]);
        Deque<Integer> deque = new ArrayDeque<>();
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 3; i++) {
            map.computeIfAbsent("k" + i, k -> new ArrayList<>()).add(i);
            queue.add(new int[] {i, -i});
            deque.push(i);
        }
        Function<Integer, Integer> twice = x -> x * 2;
        try {
            var found = map.values().stream().flatMap(List::stream).map(twice).collect(Collectors.toList());
            out.append(found).append(new Pair<>("a", 1)).append(new Node<>("x").value).append(Colour.valueOf("RED"));
        } catch (IllegalArgumentException | NullPointerException e) {
            throw new RuntimeException(e);
        }
        long[][] grid = new long[3][4];
        Arrays.sort(grid[0]);
        System.out.printf("%s %.2f %d%n", out, area(new Circle(1)), scanner.nextInt() + grid[1][1]);
    }
}
JAVA
    javac -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 -J-XX:-UsePerfData -J-XX:ArchiveClassesAtExit=/opt/verifier/javac.jsa \
        -nowarn -proc:none -d /tmp/java /tmp/java/Main.java
fi

# Of the compilers: sanitizers' libraries, link-time optimisation, module images for making other runtimes.
rm -rf /usr/lib/gcc/*/*/lib*san*.a /usr/lib/*/lib*san.so.* /usr/libexec/gcc/*/*/lto1 /usr/libexec/gcc/*/*/g++-mapper-server \
    /usr/lib/jvm/*/jmods /usr/lib/jvm/*/lib/src.zip /usr/lib/jvm/*/lib/server/classes_nocoops.jsa
rm -rf /tmp/* /var/tmp/* /root/.cache /root/.config /var/lib/apt/lists/* /var/cache/apt /var/cache/debconf /var/cache/man /var/log/* \
    /usr/share/doc /usr/share/man /usr/share/info /usr/share/locale
