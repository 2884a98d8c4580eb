with Ada.Text_IO; use Ada.Text_IO;
with Ada.Long_Long_Integer_Text_IO;
procedure Main is
   package Numbers renames Ada.Long_Long_Integer_Text_IO;
   Turns : Integer := 0 with Volatile;
   Mode : constant String := Get_Line;
   Crashed : exception;
   function Depth (N : Integer) return Integer is
   begin
      if N = 0 then return 0; end if;
      return 1 + Depth (N - 1);
   end Depth;
   type Block is array (1 .. 1_000_000) of Character;
   type Block_Access is access Block;
   Held : Block_Access;
   Total, Number : Long_Long_Integer := 0;
begin
   if Mode = "hello" then
      Put_Line ("héllo, wörld ✓");
   elsif Mode = "sum" then
      begin
         loop
            Numbers.Get (Number);
            Total := Total + Number;
         end loop;
      exception
         when End_Error => null;
      end;
      Numbers.Put (Total, Width => 0);
      New_Line;
   elsif Mode = "crash" then
      raise Crashed;
   elsif Mode = "loop" then
      loop Turns := (Turns + 1) mod 1000; end loop;
   elsif Mode = "deep" then
      Numbers.Put (Long_Long_Integer (Depth (100_000)), Width => 0);
      New_Line;
   elsif Mode = "hog" then
      loop
         Held := new Block'(others => 'x');
      end loop;
   end if;
end Main;
