#!/bin/sh
# After install.sh, for the profile that has everything: prepares the slow starters and removes what is never run.
set -eu
command -v kotlinc >/dev/null || exit 0

# Kotlin, Scala, Clojure: their own classes, ready to be mapped. The class paths are those of the table of languages.
mkdir -p /opt/verifier /tmp/jvm
cd /tmp/jvm
jars=/usr/share/java
archive() {
    name=$1
    shift
    java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData "-XX:ArchiveClassesAtExit=/opt/verifier/$name.jsa" "$@" 2>"$name.log" \
        || { cat "$name.log"; exit 1; }
}
cat >main.kt <<'KOTLIN'
import java.util.*

data class Point(val x: Int, val y: Long)

fun main() {
    val queue = PriorityQueue<Point>(compareBy { it.x })
    val counts = mutableMapOf<String, Int>()
    generateSequence(::readLine).flatMap { it.split(" ").asSequence() }.forEach { counts[it] = (counts[it] ?: 0) + 1 }
    for (i in 0 until 3) queue.add(Point(i, i.toLong()))
    when (val n = counts.size) { 0 -> println("none"); else -> println("$n ${queue.poll()?.x} ${counts.values.sum()}") }
}
KOTLIN
cat >main.scala <<'SCALA'
import scala.collection.mutable
import scala.io.StdIn

case class Point(x: Int, y: Long)

object Main {
  def main(args: Array[String]): Unit = {
    val counts = mutable.Map[String, Int]().withDefaultValue(0)
    for (line <- Iterator.continually(StdIn.readLine()).takeWhile(_ != null); word <- line.split(" ")) counts(word) += 1
    val found = counts.toSeq.sortBy(-_._2).map { case (word, n) => s"$word $n" }
    println((found ++ (1 to 3).map(i => Point(i, i).toString)).mkString("\n"))
  }
}
SCALA
echo '(println (reduce + (map #(Long/parseLong %) (re-seq #"\S+" (slurp *in*)))))' >main.clj
kotlin=$jars/kotlin-compiler.jar:$jars/libtrove-intellij.jar:$jars/kotlin-stdlib.jar:$jars/kotlin-reflect.jar
kotlin=$kotlin:$jars/kotlin-script-runtime.jar:$jars/org.jetbrains.annotations-common.jar
archive kotlin -cp "$kotlin" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -kotlin-home /usr/share/kotlin/kotlinc -nowarn -d . main.kt
archive scala -Dscala.usejavacp=true -cp "$jars/scala-library.jar:$jars/scala-reflect.jar:$jars/scala-compiler.jar" \
    scala.tools.nsc.Main -nowarn -d . main.scala
echo 1 2 3 | archive clojure -cp "$jars/clojure.jar:$jars/core.specs.alpha.jar:$jars/spec.alpha.jar" clojure.main main.clj

# Haskell: libraries to link statically, profiled ones; programs are linked with the shared ones (-dynamic).
find /usr/lib/ghc /usr/lib/haskell-packages -type f \( -name '*.p_hi' -o -name '*_p.a' -o -name '*.hi' -o -name 'lib*.a' \) -delete 2>/dev/null || true

# Parts that only a build system would want, and other compilers' copies of themselves.
rm -rf /tmp/* /usr/share/maven-repo /usr/share/maven /usr/share/ant "$jars"/kotlin-compiler-embeddable*.jar "$jars"/kotlin-frontend*.jar \
    "$jars"/kotlin-backend*.jar "$jars"/kotlin-main-kts*.jar "$jars"/kotlin-osgi-bundle*.jar "$jars"/maven*.jar \
    /usr/share/groovy/embeddable /usr/lib/llvm-*/bin /usr/lib/gcc/*/*/adalib/libgnat.a.off
