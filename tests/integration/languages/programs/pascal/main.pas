program Main;
uses SysUtils;
var
  Mode: string;
  Total, Number: Int64;
  Turns: Integer;
  Block: PChar;

function Depth(N: Integer): Integer;
begin
  if N = 0 then Result := 0 else Result := 1 + Depth(N - 1);
end;

begin
  ReadLn(Mode);
  if Mode = 'hello' then WriteLn('héllo, wörld ✓');
  if Mode = 'sum' then
  begin
    Total := 0;
    while not SeekEof do begin Read(Number); Total := Total + Number; end;
    WriteLn(Total);
  end;
  if Mode = 'crash' then raise Exception.Create('crashed');
  if Mode = 'loop' then while True do Turns := 1;
  if Mode = 'deep' then WriteLn(Depth(100000));
  if Mode = 'hog' then
    while True do begin GetMem(Block, 1000000); FillChar(Block^, 1000000, 'x'); end;
end.
