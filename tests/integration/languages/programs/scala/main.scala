import scala.collection.mutable.ArrayBuffer
import scala.io.StdIn

object Main {
  @volatile var turns = 0

  def depth(n: Int): Int = if (n == 0) 0 else 1 + depth(n - 1)

  def main(args: Array[String]): Unit = StdIn.readLine().trim match {
    case "hello" => println("héllo, wörld ✓")
    case "sum" => println(Iterator.continually(StdIn.readLine()).takeWhile(_ != null).flatMap(_.split(" ")).map(_.toLong).sum)
    case "crash" => throw new IllegalStateException("crashed")
    case "loop" => while (true) turns += 1
    case "deep" => println(depth(100000))
    case "hog" => val held = ArrayBuffer[Array[Byte]](); while (true) held += new Array[Byte](1000000)
  }
}
