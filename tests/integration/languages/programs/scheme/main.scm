(use-modules (ice-9 rdelim))

(define (depth n) (if (= n 0) 0 (+ 1 (depth (- n 1)))))

(define held '())

(define (add total)
  (let ((number (read)))
    (if (eof-object? number) total (add (+ total number)))))

(let ((mode (read-line)))
  (cond ((string=? mode "hello") (display "héllo, wörld ✓\n"))
        ((string=? mode "sum") (display (add 0)) (newline))
        ((string=? mode "crash") (error "crashed"))
        ((string=? mode "loop") (let loop () (loop)))
        ((string=? mode "deep") (display (depth 100000)) (newline))
        ((string=? mode "hog") (let loop () (set! held (cons (make-vector 100000 1.5) held)) (loop)))))
