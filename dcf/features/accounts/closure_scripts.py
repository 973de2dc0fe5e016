"""The Lua functions that close an account and open it step by step: parts of the script in `scripts`.

`decisions` has their twins. Change both together. This module must not send commands.
"""

from typing import Final

CLOSED: Final = r"""
-- Replies: why no turn may start now, and when to ask again; nothing if one may.
local function closed()
  local ends, probing, probe_at = get('until'), text('probing'), get('probe_at')
  if ends > now then
    if get('told') ~= 0 then return 'closed', ends end
    if probing ~= '' or probe_at + PROBE > now then return 'closed', min(ends, max(probe_at + PROBE, now + STEP)) end
    return nil
  end
  if ends == 0 then return nil end
  local ramp = get('ramp')
  if ramp == 0 and probing == '' then return nil end
  if ramp == 0 then
    ramp = probe_at + SILENCE
    if now < ramp then return 'probing', min(now + AGAIN, ramp) end
    set('ramp', ramp); set_text('probing', '')
  end
  local steps = floor((now - ramp) / STEP)
  local width = 2 ^ (1 + min(steps, DOUBLINGS))
  if steps >= DOUBLINGS or (get('in_flight') > 0 and get('in_flight') <= width) then
    set('was_since', get('since')); set('was_until', get('until'))
    for _, name in ipairs({'until', 'told', 'since', 'probe_at', 'ramp', 'guess'}) do set(name, 0) end
    note('open')
    return nil
  end
  if get('count') >= width then return 'ramp', ramp + STEP * (steps + 1) end
end
-- A limit on a family of models closes turns of these alone; at its end one turn of the account goes first.
local function families(of_model)
  local own = {}
  for name, value in pairs(account) do
    local family = name:match('^family:(.+)$')
    if family and value ~= '' and (not of_model or of_model:find(family, 1, true)) then own[#own + 1] = family end
  end
  return own
end
local function family_limit(family)
  local ends, by = text('family:' .. family):match('^(%d+)|(.*)$')
  return tonumber(ends or '0'), by or ''
end
local function family_closed(of_model)
  local at, by, closes = 0, '', ''
  for _, family in ipairs(families(of_model)) do
    local ends, who = family_limit(family)
    if ends <= now then
      set_text('family:' .. family, '')
      if get('until') == 0 then set('until', now); set('since', now) end
    elseif ends > at then at, by, closes = ends, who, family end
  end
  if at > 0 then return {'closed', whole(at), 0, whole(now), OF_MODELS, by, '1', closes} end
end
local function probed(id, sent, ended, ok)
  if text('probing') ~= id then return end
  if ok or tokens(sent) > 0 then
    if get('until') > now then set('until', now) end
    if get('until') > 0 and get('ramp') == 0 then set('ramp', now); note('accepted', id) end
    set_text('probing', '')
  elseif ended then set_text('probing', '') end
end
local function close(ends, told, kind, by, why)
  if get('until') <= now then
    if get('until') > 0 then set('was_since', get('since')); set('was_until', get('until')) end
    set('since', now)
  end
  set('until', ends); set('told', told); set('ramp', 0)
  set_text('kind', kind); set_text('by', by); set_text('why', why)
  note('closed', whole(ends) .. '|' .. kind .. '|' .. by .. '|' .. why)
end
"""

LIMIT: Final = r"""
local function has_room_for(family)
  local count = 0
  for name in pairs(account) do if name:match('^family:') then count = count + 1 end end
  return account['family:' .. family] or count < MOST_FAMILIES
end
-- the reservation or '', when the limit ends or 0, kind, who met it, why, the family of models or ''
function operations.limit(id, ends, kind, by, why, family)
  ends = tonumber(ends)
  if family ~= '' and ends > now and has_room_for(family) then
    local known = family_limit(family)
    if ends > known then
      set_text('family:' .. family, whole(ends) .. '|' .. by)
      note('closed', whole(ends) .. '|' .. kind .. '|' .. by .. '|' .. why .. '|' .. family)
    end
    if id ~= '' and text('probing') == id then set_text('probing', '') end
    return whole(max(ends, known))
  end
  if ends > now then
    if ends > get('until') or get('told') == 0 then
      close(ends, 1, kind, by, why)
      set('guess', 0); set_text('probing', '')
    end
  elseif ends == 0 and get('until') <= now then
    local guess = get('guess')
    close(now + PROBE * 2 ^ min(guess, 4), 0, kind, by, why)
    set('guess', guess + 1); set('probe_at', now)
  end
  if id ~= '' and text('probing') == id then set_text('probing', '') end
  return whole(max(get('until'), now))
end

-- who opens it
function operations.open(by)
  local closed_families = families()
  if get('until') <= now and #closed_families == 0 then return 0 end
  for _, family in ipairs(closed_families) do set_text('family:' .. family, '') end
  set('until', now); set('told', 0); set('ramp', 0); set('guess', 0); set_text('probing', '')
  note('opened', by)
  return 1
end
"""
