program remedies;
{$mode objfpc}
uses sysutils, baseunix;
type
  TItem = array[0..38] of char;
var
  name, path: string;
  count, i, offset: longint;
  t: text;
  typed: file of TItem;
  f: file;
  item: TItem;
  items: array of TItem;
  buffer: array[1..65536] of char;

function line(number: longint): string;
begin
  line := 'record ' + format('%.31d', [number]);
end;

{ An end that flushes nothing. }
procedure kill;
begin
  fpkill(fpgetpid, 9);
end;

procedure show;
var
  text_line: string;
begin
  while not eof(t) do begin
    readln(t, text_line);
    text_line := text_line + #10;
    fpwrite(1, text_line[1], length(text_line));
  end;
end;

begin
  name := paramstr(1);
  path := paramstr(2);
  count := strtoint(paramstr(4));
  setlength(items, count);
  for i := 0 to count - 1 do begin
    move(line(i)[1], items[i], 38);
    items[i][38] := #10;
  end;
  { The names of cases have two quotes, in comments. }
  case name of
    { "adjacent-writes/file 0" }
    'adjacent-writes/file 0': begin
      assign(t, path);
      rewrite(t);
      for i := 0 to count - 1 do begin
        writeln(t, line(i));
        flush(t);
      end;
    end;
    { "adjacent-writes/file 1" }
    'adjacent-writes/file 1': begin
      assign(t, path);
      SetTextBuf(t, buffer);
      rewrite(t);
      for i := 0 to count - 1 do
        writeln(t, line(i));
      Flush(t);
      kill;
    end;
    { "adjacent-writes/file#records 0" }
    'adjacent-writes/file#records 0': begin
      assign(typed, path);
      rewrite(typed);
      for i := 0 to count - 1 do
        write(typed, items[i]);
    end;
    { "adjacent-writes/file#records 1" }
    'adjacent-writes/file#records 1': begin
      assign(f, path);
      rewrite(f, SizeOf(item));
      BlockWrite(f, items[0], count);
      kill;
    end;
    { "small-reads/file 0" }
    'small-reads/file 0': begin
      assign(t, path);
      reset(t);
      show;
    end;
    { "small-reads/file 1" }
    'small-reads/file 1': begin
      assign(t, path);
      SetTextBuf(t, buffer);
      reset(t);
      show;
    end;
    { "small-reads/file#records 0" }
    'small-reads/file#records 0': begin
      assign(typed, path);
      reset(typed);
      for i := 0 to count - 1 do begin
        read(typed, item);
        fpwrite(1, item, 39);
      end;
    end;
    { "small-reads/file#records 1" }
    'small-reads/file#records 1': begin
      assign(f, path);
      reset(f, SizeOf(item));
      BlockRead(f, items[0], count);
      fpwrite(1, items[0], 39 * count);
    end;
    { "small-reads/pipe#stdin 0" }
    'small-reads/pipe#stdin 0':
      while fpread(0, item, 39) = 39 do
        fpwrite(1, item, 39);
    { "small-reads/pipe#stdin 1" }
    'small-reads/pipe#stdin 1': begin
      t := input;
      SetTextBuf(t, buffer);
      show;
    end;
    { "seek-then-transfer/file#read 0" }
    'seek-then-transfer/file#read 0': begin
      assign(f, path);
      reset(f, 1);
      for i := 0 to count - 1 do begin
        seek(f, 39 * i);
        BlockRead(f, item, 39);
        move(item, items[i], 39);
      end;
      fpwrite(1, items[0], 39 * count);
    end;
    { "seek-then-transfer/file#read 1" }
    'seek-then-transfer/file#read 1': begin
      assign(f, path);
      reset(f, 1);
      for i := 0 to count - 1 do begin
        offset := 39 * i;
        FpPRead(FileRec(f).Handle, @item, SizeOf(item), offset);
        move(item, items[i], 39);
      end;
      fpwrite(1, items[0], 39 * count);
    end;
  else
    halt(2);
  end;
end.
