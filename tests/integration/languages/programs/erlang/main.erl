-module(main).
-export([main/1]).

depth(0) -> 0;
depth(N) -> 1 + depth(N - 1).

forever() -> forever().

hog(Held) -> hog([lists:seq(1, 100000) | Held]).

words(Words) ->
    case io:get_line("") of
        eof -> lists:append(lists:reverse(Words));
        Line -> words([string:lexemes(Line, " \n") | Words])
    end.

main(_) ->
    io:setopts([{encoding, unicode}]),
    [Mode | Numbers] = words([]),
    case Mode of
        "hello" -> io:format("~ts~n", ["héllo, wörld ✓"]);
        "sum" -> io:format("~w~n", [lists:sum([list_to_integer(N) || N <- Numbers])]);
        "crash" -> error(crashed);
        "loop" -> forever();
        "deep" -> io:format("~w~n", [depth(100000)]);
        "hog" -> hog([])
    end.
