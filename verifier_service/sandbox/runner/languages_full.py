"""Rows of the table of languages: those of the profile `full`. See languages.py."""

from __future__ import annotations

from .language import JVM_MAIN, JVM_RUN, Language

_JAVA = (
    "java",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Xshare:auto",
)  # for what compiles or interprets
_JARS = "/usr/share/java/"
_BEAM = "+S 1:1 +sbwt none +JMsingle true"  # one scheduler that sleeps when idle; no code in a file larger than any may be
# BEAM leaves its helper behind, which ends a moment later; ending before it would look like a process left on purpose.
_LINGER = ("sh", "-c", '"$@"; status=$?; sleep 0.05; exit $status', "sh")
_GUILE = '(use-modules (system base compile)) (compile-file "main.scm" #:output-file "main.go")'
_HEAP = ("-Xmx{memory_mb}m", "-Xss64m")
_KOTLIN = ":".join(
    f"{_JARS}{name}.jar"
    for name in (
        "kotlin-compiler", "libtrove-intellij", "kotlin-stdlib", "kotlin-reflect", "kotlin-script-runtime",
        "org.jetbrains.annotations-common",
    )
)  # fmt: skip
_SCALA = ":".join(f"{_JARS}scala-{name}.jar" for name in ("library", "reflect", "compiler"))
_CLOJURE_JARS = tuple(f"{_JARS}{name}.jar" for name in ("clojure", "core.specs.alpha", "spec.alpha"))
_CLOJURE = ":".join(_CLOJURE_JARS)

FULL: tuple[Language, ...] = (
    Language(
        "ada", "Ada", "full", "gnat", "main.adb",
        compile=(("gnatmake", "-q", "-O2", "main.adb", "-o", "main"),),
        run=("{built}/main",), version=("gnatmake", "--version"), names="adb gnat", tags="ada2012",
    ),
    Language(
        "awk", "AWK (gawk)", "full", "gawk", "main.awk",
        run=("gawk", "-f", "{built}/main.awk"), version=("gawk", "--version"), names="gawk",
    ),
    Language(
        "clojure", "Clojure", "full", "clojure", "main.clj",
        run=(*_JAVA, *_HEAP, "-XX:SharedArchiveFile=/opt/verifier/clojure.jsa", "-cp", _CLOJURE,
             "clojure.main", "{built}/main.clj"),
        version=("java", "-cp", _CLOJURE, "clojure.main", "-e", "(clojure-version)"), names="clj",
        needs=_CLOJURE_JARS,
        memory_extra_mb=128, time_extra_s=1.5, processes_extra=32, sparse=True,
        out_of_memory="OutOfMemoryError",
    ),
    Language(
        "cobol", "COBOL (GnuCOBOL)", "full", "gnucobol3", "main.cob",
        compile=(("cobc", "-x", "-O", "-free", "-o", "main", "main.cob"),),
        run=("{built}/main",), version=("cobc", "--version"), names="cob cbl gnucobol",
    ),
    Language(
        "coffeescript", "CoffeeScript", "full", "coffeescript", "main.coffee",
        compile=(("coffee", "--compile", "--bare", "--no-header", "main.coffee"),),
        run=("node", "--max-old-space-size={memory_mb}", "--stack-size=50000", "{built}/main.js"),
        version=("coffee", "--version"), names="coffee", memory_extra_mb=96, time_extra_s=0.25, processes_extra=16, sparse=True,
        out_of_memory="JavaScript heap out of memory",
    ),
    Language(
        "commonlisp", "Common Lisp (SBCL)", "full", "sbcl", "main.lisp",
        run=("sbcl", "--dynamic-space-size", "{memory_mb}MB", "--control-stack-size", "64MB", "--script", "{built}/main.lisp"),
        version=("sbcl", "--version"), names="lisp cl sbcl common-lisp", memory_extra_mb=64, processes_extra=2, sparse=True,
        out_of_memory="Heap exhausted",
    ),
    Language(
        "crystal", "Crystal", "full", "crystal", "main.cr",
        compile=(("crystal", "build", "--no-color", "--no-debug", "-o", "main", "main.cr"),),
        run=("{built}/main",), version=("crystal", "--version"), names="cr",
        environment=(("CRYSTAL_CACHE_DIR", "/tmp/.crystal"),),  # noqa: S108 - the program's own
        processes_extra=4, sparse=True,
    ),
    Language(
        "csharp", "C# (Mono)", "full",
        "mono-mcs mono-runtime libmono-system-core4.0-cil libmono-system-numerics4.0-cil", "main.cs",
        compile=(("mcs", "-nologo", "-optimize+", "-r:System.Core", "-r:System.Numerics", "-out:main.exe", "main.cs"),),
        run=("mono", "{built}/main.exe"), version=("mono", "--version"), names="cs c# csharp.net mono",
        memory_extra_mb=48, processes_extra=16, sparse=True,
    ),
    Language(
        "d", "D (LDC)", "full", "ldc", "main.d",
        compile=(("ldc2", "-O2", "--of=main", "--od=.objects", "main.d"),),
        run=("{built}/main",), version=("ldc2", "--version"), names="dlang d_ut ldc dmd",
    ),
    Language(
        "elixir", "Elixir", "full", "elixir", "main.exs",
        run=(*_LINGER, "elixir", "--erl", _BEAM, "{built}/main.exs"),
        version=("elixir", "-e", "IO.puts(System.version())"), names="ex exs",
        memory_extra_mb=96, time_extra_s=1.0, processes_extra=32, sparse=True,
    ),
    Language(
        "erlang", "Erlang (escript)", "full", "erlang-base", "main.erl",
        run=(*_LINGER, "escript", "-c", "{built}/main.erl"),
        version=("erl", "-noshell", "-eval", "io:put_chars(erlang:system_info(otp_release)),halt()."),
        names="erl escript", environment=(("ERL_FLAGS", _BEAM),),
        memory_extra_mb=64, time_extra_s=0.5, processes_extra=32, sparse=True,
    ),
    Language(
        "fortran", "Fortran", "full", "gfortran", "main.f90",
        compile=(("gfortran", "-O2", "-o", "main", "main.f90"),),
        run=("{built}/main",), version=("gfortran", "-dumpfullversion"), names="f90 f95 gfortran fortran90",
    ),
    Language(
        "groovy", "Groovy", "full", "groovy", "main.groovy",
        run=(*_JAVA, *_HEAP, "-cp", f"{_JARS}groovy-all.jar", "groovy.ui.GroovyMain", "{built}/main.groovy"),
        version=("groovy", "--version"), memory_extra_mb=128, time_extra_s=1.0, processes_extra=32, sparse=True,
        out_of_memory="OutOfMemoryError",
    ),
    Language(
        "haskell", "Haskell (GHC)", "full", "ghc", "main.hs",
        compile=(("ghc", "-O", "-v0", "-dynamic", "-outputdir", ".objects", "-o", "main", "main.hs"),),
        run=("{built}/main",), version=("ghc", "--numeric-version"), names="hs ghc", sparse=True,
    ),
    Language(
        "kotlin", "Kotlin", "full", "kotlin openjdk-21-jdk-headless", "main.kt",
        compile=(
            (*_JAVA, "-Xss16m", "-XX:SharedArchiveFile=/opt/verifier/kotlin.jsa", "-cp", _KOTLIN,
             "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-kotlin-home", "/usr/share/kotlin/kotlinc", "-nowarn", "-d", ".",
             "main.kt"),
            (*JVM_MAIN, f"{_JARS}kotlin-stdlib.jar"),
        ),
        run=JVM_RUN, version=("kotlinc", "-version"), names="kt kts kotlin_script",
        memory_extra_mb=128, time_extra_s=0.25, processes_extra=32, sparse=True,
        out_of_memory="OutOfMemoryError",
    ),
    Language(
        "lua", "Lua", "full", "lua5.4", "main.lua",
        run=("lua5.4", "{built}/main.lua"), version=("lua5.4", "-v"), names="lua5.4 lua54",
    ),
    Language(
        "luajit", "Lua (LuaJIT)", "full", "luajit", "main.lua",
        run=("luajit", "{built}/main.lua"), version=("luajit", "-v"), tags="lua",
    ),
    Language(
        "ocaml", "OCaml", "full", "ocaml-nox", "main.ml",
        compile=(("ocamlopt", "-I", "+unix", "-I", "+str", "unix.cmxa", "str.cmxa", "-o", "main", "main.ml"),),
        run=("{built}/main",), version=("ocamlopt", "-version"), names="ml ocamlopt",
    ),
    Language(
        "pascal", "Pascal (Free Pascal)", "full", "fp-compiler", "main.pas",
        compile=(("sh", "-c", "exec fpc -O2 -Mobjfpc -Sh -l- -v0ew main.pas >&2"),),
        run=("{built}/main",), version=("fpc", "-iV"), names="pas fpc delphi objectpascal freepascal",
    ),
    Language(
        "perl", "Perl", "full", "perl", "main.pl",
        run=("perl", "{built}/main.pl"), version=("perl", "-e", "printf '%vd', $^V"), names="pl perl5",
    ),
    Language(
        "php", "PHP", "full", "php-cli php-mbstring php-bcmath php-gmp", "main.php",
        run=("php", "-d", "memory_limit={memory_mb}M", "-d", "display_errors=stderr", "-d", "log_errors=0",
             "-d", "zend.max_allowed_stack_size=-1",
             "{built}/main.php"),
        version=("php", "--version"),
        out_of_memory="Allowed memory size of",
    ),
    Language(
        "prolog", "Prolog (SWI-Prolog)", "full", "swi-prolog-nox", "main.pl",
        run=("swipl", "-O", "-q", "--on-error=status", "--stack-limit={memory_mb}m", "-t", "halt", "{built}/main.pl"),
        version=("swipl", "--version"), names="swipl swi-prolog", tags="pl", processes_extra=4,
        out_of_memory="Stack limit (",
    ),
    Language(
        "pypy", "Python (PyPy)", "full", "pypy3", "main.py",
        run=("pypy3", "{built}/main.py"), version=("pypy3", "-c", "import platform; print(platform.python_version())"),
        tags="python py python3 py3 pypy3", memory_extra_mb=64, time_extra_s=0.25,
    ),
    Language(
        "r", "R", "full", "r-base-core", "main.R",
        run=("Rscript", "--vanilla", "{built}/main.R"), version=("Rscript", "--version"), names="rscript",
        memory_extra_mb=64, time_extra_s=0.5, processes_extra=4,
    ),
    Language(
        "racket", "Racket", "full", "racket", "main.rkt",
        run=("racket", "{built}/main.rkt"), version=("racket", "--version"), names="rkt",
        memory_extra_mb=144, time_extra_s=1.0,
    ),
    Language(
        "raku", "Raku", "full", "raku", "main.raku",
        run=("raku", "{built}/main.raku"), version=("raku", "--version"), names="perl6 rakudo",
        memory_extra_mb=144, time_extra_s=1.0, processes_extra=8, sparse=True,
    ),
    Language(
        "ruby", "Ruby", "full", "ruby", "main.rb",
        run=("ruby", "{built}/main.rb"), version=("ruby", "--version"), names="rb",
        environment=(("RUBY_THREAD_VM_STACK_SIZE", "67108864"),), memory_extra_mb=80, time_extra_s=0.25, processes_extra=4,
    ),
    Language(
        "scala", "Scala", "full", "scala openjdk-21-jdk-headless", "main.scala",
        compile=(
            (*_JAVA, "-Xss16m", "-XX:SharedArchiveFile=/opt/verifier/scala.jsa", "-Dscala.usejavacp=true", "-cp", _SCALA,
             "scala.tools.nsc.Main", "-nowarn", "-d", ".", "main.scala"),
            (*JVM_MAIN, f"{_JARS}scala-library.jar"),
        ),
        run=JVM_RUN, version=("scalac", "-version"),
        memory_extra_mb=128, time_extra_s=0.5, processes_extra=32, sparse=True,
        out_of_memory="OutOfMemoryError",
    ),
    Language(
        "scheme", "Scheme (Guile)", "full", "guile-3.0", "main.scm",
        compile=(("guile", "--no-auto-compile", "-c", _GUILE),),
        run=("guile", "--no-auto-compile", "-c", '(load-compiled "{built}/main.go")'), version=("guile", "--version"),
        names="scm guile", memory_extra_mb=48, processes_extra=4, sparse=True,
    ),
    Language(
        "tcl", "Tcl", "full", "tcl", "main.tcl",
        run=("tclsh", "{built}/main.tcl"), version=("sh", "-c", "echo 'puts $tcl_patchLevel' | tclsh"), names="tclsh",
    ),
    Language(
        "verilog", "Verilog (Icarus)", "full", "iverilog", "main.v",
        compile=(("iverilog", "-g2012", "-o", "main.vvp", "main.v"),),
        run=("vvp", "-n", "{built}/main.vvp"), version=("vvp", "-V"), names="systemverilog sv iverilog", tags="v",
    ),
)  # fmt: skip
