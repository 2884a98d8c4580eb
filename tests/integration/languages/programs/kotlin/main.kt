@Volatile var turns = 0

fun depth(n: Int): Int = if (n == 0) 0 else 1 + depth(n - 1)

fun main() {
    when (readLine()!!.trim()) {
        "hello" -> println("héllo, wörld ✓")
        "sum" -> println(generateSequence(::readLine).flatMap { it.split(' ').asSequence() }.filter { it.isNotEmpty() }.map { it.toLong() }.sum())
        "crash" -> throw IllegalStateException("crashed")
        "loop" -> while (true) turns++
        "deep" -> println(depth(100000))
        "hog" -> { val held = mutableListOf<ByteArray>(); while (true) held.add(ByteArray(1000000)) }
    }
}
