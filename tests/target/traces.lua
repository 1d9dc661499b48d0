-- traces.lua - work for LuaJIT: traces, the interpreter, and its library. luajit traces.lua SECONDS
local start, seconds = os.clock(), tonumber(arg[1] or 1)

local function fib(n)
    if n < 2 then return n end
    return fib(n - 1) + fib(n - 2)
end

local function loop()
    local x = 0
    for i = 1, 1e6 do x = x + i % 7 end
    return x
end

local function strings()
    local t = {}
    for i = 1, 2000 do t[#t + 1] = tostring(i) .. "x" end
    return #table.concat(t)
end

local function sort()
    local t = {}
    for i = 1, 3000 do t[i] = (i * 7919) % 3001 end
    table.sort(t, function(a, b) return a < b end)
    return t[1]
end

while os.clock() - start < seconds do
    fib(22)
    loop()
    strings()
    sort()
end
