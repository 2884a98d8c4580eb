[mode, numbers...] = require('fs').readFileSync(0, 'utf8').split /\s+/
depth = (n) -> if n is 0 then 0 else 1 + depth n - 1
switch mode
  when 'hello' then console.log 'héllo, wörld ✓'
  when 'sum' then console.log String numbers.filter((n) -> n).reduce(((total, n) -> total + Number n), 0)
  when 'crash' then throw new Error 'crashed'
  when 'loop'
    loop then turns = 1
  when 'deep' then console.log String depth 100000
  when 'hog'
    held = []
    loop then held.push new Array(100000).fill held.length
