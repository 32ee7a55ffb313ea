local case, path, port, count = ...
local parts, lines = {}, {}
for number = 0, count - 1 do
    parts[#parts + 1] = "record "
    parts[#parts + 1] = string.format("%031d\n", number)
end
local function connect() return require("socket").connect("127.0.0.1", port) end
local function each(write) for _, part in ipairs(parts) do write(part) end end
local cases = {
    ["adjacent-writes/file 0"] = function()
        local file = io.open(path, "w")
        file:setvbuf("no")
        each(function(part) file:write(part) end)
    end,
    ["adjacent-writes/file 1"] = function()
        local file = io.open(path, "w")
        file:setvbuf("full")
        each(function(part) file:write(part) end)
        assert(file:flush())
    end,
    ["adjacent-writes/file 2"] = function()
        local file = io.open(path, "w")
        file:setvbuf("full", 65536)
        for i = 1, #parts, 2 do
            local header, body = parts[i], parts[i + 1]
            file:write(header .. body)
            assert(file:flush())
        end
    end,
    ["adjacent-writes/unix 0"] = function()
        local socket = connect()
        each(function(part) socket:send(part) end)
    end,
    ["adjacent-writes/unix 1"] = function()
        local socket = connect()
        local all, parts = parts, {}
        for _, part in ipairs(all) do parts[#parts + 1] = part end
        assert(socket:send(table.concat(parts)))
    end,
    ["no-delay/tcp 1"] = function()
        local socket = connect()
        socket:setoption("tcp-nodelay", true)
        each(function(part) socket:send(part) end)
    end,
    ["small-reads/file 0"] = function()
        local file = io.open(path)
        file:setvbuf("no")
        for record in function() return file:read(39) end do lines[#lines + 1] = record end
        io.write(table.concat(lines))
    end,
    ["small-reads/file 1"] = function()
        local file = io.open(path)
        file:setvbuf("no")
        for part in function() return file:read(65536) end do lines[#lines + 1] = part end
        io.write(table.concat(lines))
    end,
    ["small-reads/pipe#stdin 0"] = function()
        local file = io.stdin
        file:setvbuf("no")
        for record in function() return file:read(39) end do io.write(record); io.flush() end
    end,
    ["small-reads/pipe#stdin 1"] = function()
        local file, count = io.stdin, 39
        for part in function() return file:read(count) end do io.write(part); io.flush() end
    end,
}
(cases[case] or os.exit)()
io.stdout:flush()
-- An end that flushes nothing.
local pid = io.open("/proc/self/stat"):read("n")
if case:find("writes") then os.execute("kill -9 " .. pid) end
