defmodule Main do
  def depth(0), do: 0
  def depth(n), do: 1 + depth(n - 1)
  def forever, do: forever()
  def hog(held), do: hog([:lists.seq(1, 100_000) | held])
end

[mode | numbers] = IO.read(:stdio, :eof) |> String.split()

case mode do
  "hello" -> IO.puts("héllo, wörld ✓")
  "sum" -> IO.puts(numbers |> Enum.map(&String.to_integer/1) |> Enum.sum())
  "crash" -> raise "crashed"
  "loop" -> Main.forever()
  "deep" -> IO.puts(Main.depth(100_000))
  "hog" -> Main.hog([])
end
