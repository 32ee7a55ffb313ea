let name, path, count = Sys.argv.(1), Sys.argv.(2), int_of_string Sys.argv.(4)
let each write = for i = 0 to count - 1 do write "record "; write (Printf.sprintf "%031d\n" i) done
let create () = Unix.openfile path [Unix.O_WRONLY; Unix.O_CREAT] 0o666

(* Reads records, and prints each. *)
let show read =
  let record = Bytes.create 39 in
  while read record 0 39 = 39 do ignore (Unix.write Unix.stdout record 0 39) done

let exactly channel record from count = try really_input channel record from count; count with End_of_file -> 0

(* An end that flushes nothing. *)
let kill () = Unix.kill (Unix.getpid ()) Sys.sigkill

let () = match name with
  | "adjacent-writes/file 0" ->
    let channel = open_out path in
    each (fun text -> output_string channel text; flush channel)
  | "adjacent-writes/file 1" ->
    let channel = open_out path in
    each (output_string channel);
    flush channel;
    kill ()
  | "adjacent-writes/file#descriptor 0" ->
    let fd = create () in
    each (fun text -> ignore (Unix.write_substring fd text 0 (String.length text)))
  | "adjacent-writes/file#descriptor 1" ->
    let fd = create () in
    let channel = Unix.out_channel_of_descr fd in
    each (output_string channel);
    flush channel;
    kill ()
  | "small-reads/file 0" ->
    show (Unix.read (Unix.openfile path [Unix.O_RDONLY] 0))
  | "small-reads/file 1" ->
    let fd = Unix.openfile path [Unix.O_RDONLY] 0 in
    let channel = Unix.in_channel_of_descr fd in
    show (exactly channel)
  | "small-reads/pipe#stdin 0" -> show (Unix.read Unix.stdin)
  | "small-reads/pipe#stdin 1" ->
    let fd = Unix.stdin in
    let channel = Unix.in_channel_of_descr fd in
    show (exactly channel)
  | _ -> exit 2
