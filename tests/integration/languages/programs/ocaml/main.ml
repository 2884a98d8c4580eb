let rec depth n = if n = 0 then 0 else 1 + depth (n - 1)

let rec add total = match Scanf.scanf " %d" (fun n -> n) with
  | n -> add (total + n)
  | exception _ -> total

let () = match Scanf.scanf "%s" (fun mode -> mode) with
  | "hello" -> print_endline "héllo, wörld ✓"
  | "sum" -> Printf.printf "%d\n" (add 0)
  | "crash" -> failwith "crashed"
  | "loop" -> while true do () done
  | "deep" -> Printf.printf "%d\n" (depth 100000)
  | "hog" -> let held = ref [] in while true do held := Bytes.make 1000000 'x' :: !held done
  | _ -> ()
