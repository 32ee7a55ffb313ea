(defvar *words* (cdr sb-ext:*posix-argv*))
(defvar *path* (second *words*))
(defvar *count* (parse-integer (fourth *words*)))

(defun is (name) (string= name (first *words*)))

;; The stream of a descriptor of the file.
(defun descriptor (flags)
  (sb-alien:alien-funcall (sb-alien:extern-alien "open" (function sb-alien:int sb-alien:c-string sb-alien:int sb-alien:int))
                          *path* flags #o666))

(defun each (stream)
  (dotimes (i *count*) (write-string "record " stream) (format stream "~31,'0d~%" i)))


(cond
  ((is "adjacent-writes/file 0") (each (sb-sys:make-fd-stream (descriptor #o101) :output t :buffering :none)))
  ((is "adjacent-writes/file 1") (let ((stream (sb-sys:make-fd-stream (descriptor #o101) :output t :buffering :full)))
     (each stream)
     (finish-output stream)
     ;; An end that flushes nothing.
     (exit :code 0 :abort t)))
  (t (exit :code 2)))
