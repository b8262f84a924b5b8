-- SPDX-License-Identifier: MIT
-- All ways to put eight queens on a board, each as a list that shares its tail.

local function free(board, row, column)
  local c = 1
  while board do
    local other = board.row
    if other == row or other - row == c or row - other == c then
      return false
    end
    c, board = c + 1, board.rest
  end
  return column > 0
end

local function place(n, column, board, found)
  if column > n then
    found[#found+1] = board
    return
  end
  for row = 1, n do
    if free(board, row, column) then
      place(n, column + 1, { row = row, rest = board }, found)
    end
  end
end

local function draw(board, n)
  local lines = {}
  while board do
    local line = {}
    for row = 1, n do line[row] = row == board.row and "Q" or "." end
    lines[#lines+1] = table.concat(line, " ")
    board = board.rest
  end
  local text = table.concat(lines, "\n")
  return text
end

local length = 0
for n = 4, 8 do
  local found = {}
  place(n, 1, nil, found)
  for _, board in ipairs(found) do length = length + #draw(board, n) end
end
print(length)
