module main;
  integer status;
  reg [127:0] mode;
  reg signed [63:0] total, number;
  reg turns;
  initial begin
    status = $fscanf(32'h8000_0000, "%s", mode);
    total = 0;
    turns = 0;
    case (mode)
      "hello": $display("héllo, wörld ✓");
      "sum": begin
        while ($fscanf(32'h8000_0000, "%d", number) == 1) total = total + number;
        $display("%0d", total);
      end
      "crash": $fatal(0, "crashed");
      "loop": forever turns = ~turns;
      default: ;
    endcase
    $finish(0);
  end
endmodule
