def words = System.in.text.split(/\s+/) as List
class Deep {
    static int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1) }
}
switch (words[0]) {
    case "hello": println "héllo, wörld ✓"; break
    case "sum": println words.drop(1).sum { it as long }; break
    case "crash": throw new IllegalStateException("crashed")
    case "loop": while (true) {}
    case "deep": println Deep.depth(100000); break
    case "hog": def held = []; while (true) held << new byte[1000000]
}
