-mode(compile).

main([Case, Path, Port, Count]) ->
    Records = [{<<"record ">>, iolist_to_binary(io_lib:format("~31..0b\n", [I]))} || I <- lists:seq(0, list_to_integer(Count) - 1)],
    run(Case, Path, list_to_integer(Port), Records).

connect(Port) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    Socket.

create(Path) ->
    {ok, File} = file:open(Path, [write, raw]),
    File.

%% Reads until the end, and prints each.
show(Read) ->
    {ok, Out} = file:open("/dev/stdout", [append, raw]),
    show(Read, Out).
show(Read, Out) ->
    case Read() of
        {ok, Data} -> ok = file:write(Out, Data), show(Read, Out);
        _ -> ok
    end.

both({Header, Body}) -> <<Header/binary, Body/binary>>.
at(Records) -> lists:zip(lists:seq(0, 39 * (length(Records) - 1), 39), Records).

run("adjacent-writes/file 0", Path, _, Records) ->
    File = create(Path),
    [begin ok = file:write(File, Header), ok = file:write(File, Body) end || {Header, Body} <- Records];
run("adjacent-writes/file 1", Path, _, Records) ->
    {ok, File} = file:open(Path, [write, raw, {delayed_write, 65536, 2000}]),
    [begin ok = file:write(File, Header), ok = file:write(File, Body) end || {Header, Body} <- Records],
    {ok, _} = file:position(File, cur),
    halt(0);
run("adjacent-writes/file 2", Path, _, Records) ->
    File = create(Path),
    [ok = file:write(File, [Header, Body]) || {Header, Body} <- Records];
run("adjacent-writes/unix 0", _, Port, Records) ->
    Socket = connect(Port),
    [begin ok = gen_tcp:send(Socket, Header), ok = gen_tcp:send(Socket, Body) end || {Header, Body} <- Records],
    ok = gen_tcp:close(Socket);
run("adjacent-writes/unix 1", _, Port, Records) ->
    Socket = connect(Port),
    [ok = gen_tcp:send(Socket, [Header, Body]) || {Header, Body} <- Records],
    ok = gen_tcp:close(Socket);
run("no-delay/tcp 1", _, Port, Records) ->
    Socket = connect(Port),
    inet:setopts(Socket, [{nodelay, true}]),
    [ok = gen_tcp:send(Socket, both(Record)) || Record <- Records],
    ok = gen_tcp:close(Socket);
run("quick-ack/tcp 1", _, Port, Records) ->
    Socket = connect(Port),
    inet:setopts(Socket, [{raw, 6, 12, <<1:32/native>>}]),
    [ok = gen_tcp:send(Socket, both(Record)) || Record <- Records],
    ok = gen_tcp:close(Socket);
run("small-reads/file 0", Path, _, _) ->
    {ok, File} = file:open(Path, [read, raw, binary]),
    show(fun() -> file:read(File, 39) end);
run("small-reads/file 1", Path, _, _) ->
    {ok, File} = file:open(Path, [read, raw, binary, {read_ahead, 65536}]),
    show(fun() -> file:read(File, 39) end);
run("small-reads/pipe 0", _, Port, _) ->
    Socket = connect(Port),
    show(fun() -> gen_tcp:recv(Socket, 39) end);
run("small-reads/pipe 1", _, Port, _) ->
    Socket = connect(Port),
    ok = inet:setopts(Socket, [{buffer, 65536}]),
    show(fun() -> gen_tcp:recv(Socket, 0) end);
run("seek-then-transfer/file 0", Path, _, Records) ->
    File = create(Path),
    [begin {ok, _} = file:position(File, Offset), ok = file:write(File, both(Record)) end || {Offset, Record} <- at(Records)];
run("seek-then-transfer/file 1", Path, _, Records) ->
    File = create(Path),
    Pieces = [{Offset, both(Record)} || {Offset, Record} <- at(Records)],
    [ok = file:pwrite(File, Offset, Bytes) || {Offset, Bytes} <- Pieces];
run("seek-then-transfer/file#read 0", Path, _, Records) ->
    {ok, File} = file:open(Path, [read, raw, binary]),
    Read = fun(Offset) -> {ok, _} = file:position(File, Offset), {ok, Data} = file:read(File, 39), Data end,
    ok = file:write_file("/dev/stdout", [Read(Offset) || {Offset, _} <- at(Records)]);
run("seek-then-transfer/file#read 1", Path, _, Records) ->
    {ok, File} = file:open(Path, [read, raw, binary]),
    Count = 39,
    Read = fun(Offset) -> {ok, Data} = file:pread(File, Offset, Count), Data end,
    ok = file:write_file("/dev/stdout", [Read(Offset) || {Offset, _} <- at(Records)]);
run("sync-each/file 0", Path, _, Records) ->
    File = create(Path),
    [begin ok = file:write(File, both(Record)), ok = file:datasync(File) end || Record <- Records];
run("sync-each/file 1", Path, _, Records) ->
    File = create(Path),
    [ok = file:write(File, both(Record)) || Record <- Records],
    ok = file:datasync(File);
run(_, _, _, _) ->
    halt(2).
