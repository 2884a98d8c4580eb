#lang racket
(define (depth n) (if (zero? n) 0 (+ 1 (depth (- n 1)))))
(define words (string-split (port->string (current-input-port))))
(match (first words)
  ["hello" (displayln "héllo, wörld ✓")]
  ["sum" (displayln (apply + (map string->number (rest words))))]
  ["crash" (error "crashed")]
  ["loop" (let loop () (loop))]
  ["deep" (displayln (depth 100000))]
  ["hog" (let loop ([held '()]) (loop (cons (make-bytes 1000000 1) held)))])
