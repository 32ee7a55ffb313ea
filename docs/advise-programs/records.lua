io.stdout:setvbuf(arg[1] == 'each' and 'no' or 'full', 65536)
for i = 1, 20000 do io.write('record ' .. i .. '\n') end
