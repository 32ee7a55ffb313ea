(defvar *words* (cdr sb-ext:*posix-argv*))
(defvar *path* (second *words*))
(defvar *count* (parse-integer (fourth *words*)))

(defun is (name) (string= name (first *words*)))

;; The stream of a descriptor of the file.
(defun descriptor (flags)
  (sb-alien:alien-funcall (sb-alien:extern-alien "open" (function sb-alien:int sb-alien:c-string sb-alien:int sb-alien:int))
                          *path* flags #o666))

(defun each (stream &optional (after (lambda ())))
  (dotimes (i *count*)
    (write-string "record " stream)
    (format stream "~31,'0d~%" i)
    (funcall after)))

;; Reads from a descriptor, and prints what came.
(defun show (fd read)
  (let ((buffer (make-array 65536 :element-type '(unsigned-byte 8))))
    (sb-sys:with-pinned-objects (buffer)
      (loop for got = (funcall read fd buffer)
            while (plusp got)
            do (sb-unix:unix-write 1 buffer 0 got)))))

(defun small (fd buffer) (sb-unix:unix-read fd (sb-sys:vector-sap buffer) 39))

(cond
  ((is "adjacent-writes/file 0") (each (sb-sys:make-fd-stream (descriptor #o101) :output t :buffering :none)))
  ((is "adjacent-writes/file 1") (let* ((fd (descriptor #o101)) (stream (sb-sys:make-fd-stream fd :output t :buffering :full)))
     (each stream)
     (finish-output stream)
     ;; An end that flushes nothing.
     (exit :code 0 :abort t)))
  ((is "adjacent-writes/file#open 0") (with-open-file (stream *path* :direction :output)
     (each stream (lambda () (finish-output stream)))))
  ((is "adjacent-writes/file#open 1") (with-open-file (stream *path* :direction :output)
     (each stream)
     (finish-output stream)
     (exit :code 0 :abort t)))
  ((is "small-reads/file 0") (show (descriptor 0) #'small))
  ((is "small-reads/file 1") (show (descriptor 0) (lambda (fd buffer) (sb-unix:unix-read fd (sb-sys:vector-sap buffer) 65536))))
  ((is "small-reads/pipe#stdin 0") (show 0 #'small))
  ((is "small-reads/pipe#stdin 1") (show 0 (lambda (fd buffer) (sb-unix:unix-read fd (sb-sys:vector-sap buffer) 65536))))
  (t (exit :code 2)))
