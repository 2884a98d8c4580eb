:- initialization(main).

depth(0, 0) :- !.
depth(N, D) :- M is N - 1, depth(M, E), D is E + 1.

forever :- repeat, fail.

hog(Held) :- numlist(1, 100000, Block), hog([Block|Held]).

numbers(Words, Numbers) :-
    include([W]>>(W \== ""), Words, Full),
    maplist([W, N]>>number_string(N, W), Full, Numbers).

run("hello", _) :- writeln('héllo, wörld ✓').
run("sum", Words) :- numbers(Words, Numbers), sum_list(Numbers, Sum), writeln(Sum).
run("crash", _) :- throw(crashed).
run("loop", _) :- forever.
run("deep", _) :- depth(100000, D), writeln(D).
run("hog", _) :- hog([]).

main :-
    read_string(user_input, _, Text),
    split_string(Text, " \n", " \n", [Mode|Words]),
    run(Mode, Words).
