identification division.
program-id. totals.
data division.
working-storage section.
01 line-in pic x(80).
01 asked pic x(10).
01 number-in pic s9(18).
01 total pic s9(18) value 0.
01 shown pic -(17)9.
01 done pic 9 value 0.
01 block-pointer usage pointer.
linkage section.
01 held pic x(1000000).
procedure division.
    accept asked
    evaluate asked
        when "hello"
            display "héllo, wörld ✓"
        when "sum"
            perform until done = 1
                move high-values to line-in
                accept line-in on exception move 1 to done end-accept
                if line-in = high-values or line-in = spaces
                    move 1 to done
                else
                    compute number-in = function numval(line-in)
                    add number-in to total
                end-if
            end-perform
            move total to shown
            display function trim(shown)
        when "crash"
            call "no_such_program"
        when "loop"
            perform until done = 1
                move 0 to done
            end-perform
        when "hog"
            perform until done = 1
                allocate 1000000 characters initialized returning block-pointer
                if block-pointer = null
                    call "abort"
                end-if
            end-perform
    end-evaluate
    stop run.
