local mode = io.read("l")
local function depth(n) if n == 0 then return 0 end return 1 + depth(n - 1) end
if mode == "hello" then print("héllo, wörld ✓")
elseif mode == "sum" then
  local total = 0
  for line in io.lines() do for number in line:gmatch("%S+") do total = total + tonumber(number) end end
  print(string.format("%d", total))
elseif mode == "crash" then error("crashed")
elseif mode == "loop" then while true do end
elseif mode == "deep" then print(depth(jit and 10000 or 100000))
elseif mode == "hog" then
  local held = {}
  while true do held[#held + 1] = string.rep(tostring(#held), 100000) end
end
