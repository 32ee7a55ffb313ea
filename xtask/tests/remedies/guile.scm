(use-modules (ice-9 binary-ports) (rnrs bytevectors))

(define words (cdr (command-line)))
(define path (list-ref words 1))
(define count (string->number (list-ref words 3)))
(define (is name) (string=? name (car words)))

(define (each port)
  (do ((i 0 (+ i 1))) ((= i count))
    (display "record " port)
    (display (string-pad (number->string i) 31 #\0) port)
    (newline port)))

;; Reads records, and prints each.
(define (show port)
  (let ((record (get-bytevector-n port 39)))
    (unless (eof-object? record)
      (put-bytevector (current-output-port) record)
      (force-output)
      (show port))))

(cond
 ((is "adjacent-writes/file 0") (let ((port (open-output-file path))) (setvbuf port 'none) (each port) (close-port port)))
 ((is "adjacent-writes/file 1") (let ((port (open-output-file path))) (setvbuf port 'block 65536) (each port) (force-output port) (primitive-_exit 0)))
 ((is "small-reads/file 0") (let ((port (open-input-file path))) (setvbuf port 'none) (show port)))
 ((is "small-reads/file 1") (let ((port (open-input-file path))) (setvbuf port 'block 65536) (show port)))
 ((is "small-reads/pipe#stdin 0") (let ((port (current-input-port))) (setvbuf port 'none) (show port)))
 ((is "small-reads/pipe#stdin 1") (let ((port (current-input-port))) (setvbuf port 'block 65536) (show port)))
 (else (exit 2)))
