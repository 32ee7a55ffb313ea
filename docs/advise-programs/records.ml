let () =
  let each = Sys.argv.(1) = "each" in
  for i = 1 to 20000 do
    print_string ("record " ^ string_of_int i);
    if each then print_newline () else print_char '\n'
  done
