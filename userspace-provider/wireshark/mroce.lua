-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- Wireshark dissector of MetaRoCE, version 1: every packet type of Documentation/protocol.rst, whose numbered
-- clauses are named here in brackets. Wireshark 3.4 and later. For oneself: copy it to the folder of personal Lua
-- plugins (Help, About, Folders), or  tshark -X lua_script:mroce.lua
--
-- A train, as a capture between two namespaces or on a sender's own netdev has it, is one item with the range of its
-- numbers. Of numbered packets it says what is missing, late, doubled or sent again: as seen where the capture was
-- made, one interface at a time. What it takes for MetaRoCE depends on the UDP port alone; no other traffic is
-- guessed at.

local mroce = Proto("mroce", "MetaRoCE")

mroce.prefs.port = Pref.uint("UDP port", 19791, "The service port, parameter port of the module")

-- ---- names

local types = {
	[1] = "HELLO", [2] = "HELLO_ACK", [3] = "RESET", [4] = "OPEN", [5] = "OPEN_REPLY", [6] = "DATA", [7] = "ACK",
	[8] = "CONTROL", [9] = "PROBE", [10] = "UD", [11] = "VERIFY", [12] = "UC",
}
-- name; what its packets carry: "message", or so many bytes; which fields count
local opcodes = {
	[0] = { name = "SEND", carries = "message", uc = true },
	[1] = { name = "SEND_IMM", carries = "message", uc = true },
	[2] = { name = "SEND_INV", carries = "message" },
	[3] = { name = "WRITE", carries = "message", address = true, uc = true },
	[4] = { name = "WRITE_IMM", carries = "message", address = true, uc = true },
	[5] = { name = "READ", carries = 0, address = true },
	[6] = { name = "CMP_SWAP", carries = 16, address = true },
	[7] = { name = "FETCH_ADD", carries = 16, address = true },
	[10] = { name = "FLUSH", carries = 0, address = true },
	[11] = { name = "ATOMIC_WRITE", carries = 8, address = true },
	[16] = { name = "READ_RESP", carries = "message", response = true },
	[17] = { name = "ATOMIC_RESP", carries = 8, response = true },
	[18] = { name = "ERROR_RESP", carries = 0, response = true },
}
local opcode_names = {}
for number, op in pairs(opcodes) do
	opcode_names[number] = op.name
end
local controls = { [1] = "CLOSE", [2] = "CREDIT", [3] = "PROBE" }
local statuses = { [0] = "ACCEPT", [1] = "NOT_READY", [2] = "REFUSED" }
local refusals = { [1] = "version", [2] = "address", [3] = "MTU", [4] = "limit" }
local records = { [1] = "CREDIT", [2] = "NACK", [3] = "RELEASE", [4] = "FLOOR" }
local nacks = {
	[1] = "RNR", [2] = "HOLD", [3] = "WINDOW", [4] = "READS", [5] = "NOT_READY", [6] = "MEMORY", [7] = "FAULT",
	[8] = "ACCESS", [9] = "LENGTH", [10] = "GONE", [11] = "OPERATION",
}

-- ---- fields

local f = {}
mroce.fields = {}
local function field(name, make, title, ...)
	local made = make("mroce." .. name, title, ...)
	f[name] = made
	table.insert(mroce.fields, made)
	return made
end
-- a byte of flags: each with its bit
local flag_sets = {}
local function flags(name, title, bits)
	field(name, ProtoField.uint8, title, base.HEX)
	flag_sets[name] = {}
	for _, bit in ipairs(bits) do
		local sub = name .. "." .. bit[1]:lower()
		field(sub, ProtoField.bool, bit[1], 8, nil, bit[2])
		table.insert(flag_sets[name], { sub, bit[1], bit[2] })
	end
end

field("version", ProtoField.uint8, "Version")
field("type", ProtoField.uint8, "Type", base.DEC, types)
field("path", ProtoField.uint8, "Path")
field("epoch", ProtoField.uint8, "Epoch of the path")
field("number", ProtoField.uint32, "Path packet number")
field("number.last", ProtoField.uint32, "Last number of the train")
field("packets", ProtoField.uint32, "Packets of the train")
field("id", ProtoField.uint64, "Id of the half", base.HEX)
field("stream", ProtoField.uint32, "Stream", base.HEX)
field("spn", ProtoField.uint32, "Stream packet number")
field("spn.last", ProtoField.uint32, "Last stream packet number of the train")
field("msn", ProtoField.uint32, "Message number")
field("rsn", ProtoField.uint32, "Receive number")
field("offset", ProtoField.uint32, "Offset in the message")
field("length", ProtoField.uint32, "Length of the message")
field("addr", ProtoField.uint64, "Address", base.HEX)
field("rkey", ProtoField.uint32, "Key", base.HEX)
field("imm", ProtoField.uint32, "Immediate", base.HEX)
field("opcode", ProtoField.uint8, "Opcode", base.DEC, opcode_names)
flags("flags", "Flags", {
	{ "FIRST", 0x01 }, { "LAST", 0x02 }, { "ACKREQ", 0x04 }, { "SOLICITED", 0x08 },
	{ "RESPONSE", 0x10 }, { "ORDERED", 0x20 }, { "HELD_BACK", 0x40 }, { "CRC", 0x80 },
})
field("psize", ProtoField.uint16, "Payload of a packet")
field("stamp", ProtoField.uint32, "Stamp (16 ns)")
field("backlog", ProtoField.uint32, "Backlog (KiB)")
field("floor", ProtoField.uint32, "Floor of responses, or queue (XRC)")
field("crc", ProtoField.uint32, "CRC", base.HEX)
field("payload", ProtoField.bytes, "Payload")
field("padding", ProtoField.bytes, "Padding")
field("atomic.operand", ProtoField.uint64, "Operand: compare or add", base.HEX)
field("atomic.swap", ProtoField.uint64, "Operand: swap", base.HEX)
field("atomic.result", ProtoField.uint64, "Value before", base.HEX)
field("anchor", ProtoField.uint32, "Number of bit 0")
field("echo", ProtoField.uint32, "Echo of the newest stamp (16 ns)")
field("delay", ProtoField.uint32, "Delay of the answer (16 ns)")
field("received", ProtoField.uint32, "Packets received in this epoch")
field("marked", ProtoField.uint32, "Of these, marked")
field("bytes", ProtoField.uint64, "Payload of these, bytes")
field("share", ProtoField.uint32, "Share (KiB/s; 0: no limit)")
field("allowance", ProtoField.uint32, "Allowance from idle (bytes; 0: no limit)")
flags("ack.flags", "Flags", { { "PARTIAL", 0x01 }, { "DUPLICATE", 0x02 } })
field("records", ProtoField.uint8, "Records")
field("active", ProtoField.uint16, "Senders with a backlog")
field("bitmap", ProtoField.bytes, "Bitmap")
field("missing", ProtoField.string, "Not placed, above the oldest that is")
field("record", ProtoField.uint8, "Record", base.DEC, records)
field("nack", ProtoField.uint8, "Reason", base.DEC, nacks)
flags("record.flags", "Flags", { { "RESPONSE", 0x01 } })
field("timer", ProtoField.uint8, "Timer")
field("record.number", ProtoField.uint32, "Path packet number spoken of")
field("value", ProtoField.uint32, "Value")
field("control", ProtoField.uint8, "Operation", base.DEC, controls)
field("padded", ProtoField.uint16, "Length of the padding")
field("own_qpn", ProtoField.uint32, "Sender's queue pair", base.HEX)
field("peer_qpn", ProtoField.uint32, "Queue pair connected to", base.HEX)
field("psn", ProtoField.uint32, "First stream packet number")
field("to_stream", ProtoField.uint32, "Opener's stream", base.HEX)
field("credit", ProtoField.uint32, "Credit: receive numbers below it have a buffer")
field("attempt", ProtoField.uint32, "Attempt")
field("log_packets", ProtoField.uint8, "Window in packets, power of two")
field("log_messages", ProtoField.uint8, "Window in messages, power of two")
field("status", ProtoField.uint8, "Status", base.DEC, statuses)
field("reads", ProtoField.uint8, "Reads and atomics outstanding")
flags("open.flags", "Flags", { { "ACKREQ", 0x04 } })
field("open.kind", ProtoField.uint8, "Kind of queue pairs", base.DEC, { [0] = "RC", [1] = "XRC" })
field("version_min", ProtoField.uint8, "Lowest version spoken")
field("version_max", ProtoField.uint8, "Highest version spoken")
field("npaths", ProtoField.uint8, "Paths")
field("nplanes", ProtoField.uint8, "Planes")
flags("hello.flags", "Flags", { { "COOKIE", 0x01 }, { "RESTART", 0x02 }, { "REFUSED", 0x04 } })
field("reason", ProtoField.uint8, "Reason of a refusal", base.DEC, refusals)
field("max_payload", ProtoField.uint16, "Largest payload of a packet")
field("own_id", ProtoField.uint64, "Id that answers must carry", base.HEX)
field("instance", ProtoField.uint64, "Instance", base.HEX)
field("half", ProtoField.uint32, "Half", base.HEX)
field("serial", ProtoField.uint32, "Serial of the planes")
field("nonce", ProtoField.uint64, "Nonce", base.HEX)
field("cookie", ProtoField.bytes, "Cookie")
field("to", ProtoField.ipv6, "Meant for")
field("plane.addr", ProtoField.ipv6, "Address")
field("plane.mtu", ProtoField.uint16, "MTU (0: 65,535 or more)")
field("plane.flags", ProtoField.uint16, "Flags", base.HEX)
field("plane.speed", ProtoField.uint32, "Speed (Mb/s; 0: unknown)")
field("reset.type", ProtoField.uint8, "Type of the packet", base.DEC, types)
field("verify.echo", ProtoField.uint64, "Echo of the other side's nonce", base.HEX)
flags("verify.flags", "Flags", { { "REPLY", 0x01 }, { "VERIFIED", 0x02 } })
field("dst_qpn", ProtoField.uint32, "Receiver's queue pair", base.HEX)
field("src_qpn", ProtoField.uint32, "Sender's queue pair", base.HEX)
field("qkey", ProtoField.uint32, "Q_Key", base.HEX)
field("pkey", ProtoField.uint16, "Partition key", base.HEX)
flags("ud.flags", "Flags", { { "IMM", 0x01 }, { "SOLICITED", 0x02 } })
field("reserved", ProtoField.bytes, "Reserved")

local e = {}
mroce.experts = {}
local function remark(name, text, group, severity)
	e[name] = ProtoExpert.new("mroce.expert." .. name, text, group, severity)
	table.insert(mroce.experts, e[name])
end
remark("malformed", "Malformed: its receiver ignores it", expert.group.MALFORMED, expert.severity.ERROR)
remark("unknown", "Not of a version and type known here", expert.group.UNDECODED, expert.severity.WARN)
remark("cut", "The capture holds the beginning only", expert.group.UNDECODED, expert.severity.NOTE)
remark("gap", "Numbers of this path were not seen before: lost, or late", expert.group.SEQUENCE, expert.severity.WARN)
remark("late", "Came after higher numbers of its path", expert.group.SEQUENCE, expert.severity.NOTE)
remark("duplicate", "The network has doubled it", expert.group.SEQUENCE, expert.severity.NOTE)
remark("resent", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE)
remark("ce", "Congestion Experienced", expert.group.SEQUENCE, expert.severity.NOTE)
remark("missing", "Reports packets that were not placed", expert.group.SEQUENCE, expert.severity.NOTE)
remark("nack", "Refusal of a packet", expert.group.RESPONSE_CODE, expert.severity.WARN)
remark("refused", "Refusal", expert.group.RESPONSE_CODE, expert.severity.WARN)
remark("reset", "The half is not known", expert.group.RESPONSE_CODE, expert.severity.WARN)

-- ---- layouts: offset, bytes, field. The first 16 bytes are the same in all

local layouts = {
	base = {
		{ 0, 1, "version" }, { 1, 1, "type" }, { 2, 1, "path" }, { 3, 1, "epoch" }, { 4, 4, "number" },
		{ 8, 8, "id" },
	},
	DATA = {
		size = 76,
		{ 16, 4, "stream" }, { 20, 4, "spn" }, { 24, 4, "msn" }, { 28, 4, "rsn" }, { 32, 4, "offset" },
		{ 36, 4, "length" }, { 40, 8, "addr" }, { 48, 4, "rkey" }, { 52, 4, "imm" }, { 56, 1, "opcode" },
		{ 57, 1, "flags" }, { 58, 2, "psize" }, { 60, 4, "stamp" }, { 64, 4, "backlog" }, { 68, 4, "floor" },
		{ 72, 4, "crc" },
	},
	ACK = {
		size = 88,
		{ 16, 4, "anchor" }, { 20, 4, "echo" }, { 24, 4, "delay" }, { 28, 4, "received" }, { 32, 4, "marked" },
		{ 36, 8, "bytes" }, { 44, 4, "share" }, { 48, 4, "allowance" }, { 52, 1, "ack.flags" },
		{ 53, 1, "records" }, { 54, 2, "active" }, { 56, 32, "bitmap" },
	},
	record = {
		size = 20,
		{ 0, 1, "record" }, { 1, 1, "nack" }, { 2, 1, "record.flags" }, { 3, 1, "timer" }, { 4, 4, "stream" },
		{ 8, 4, "spn" }, { 12, 4, "record.number" }, { 16, 4, "value" },
	},
	CONTROL = {
		size = 32,
		{ 16, 1, "control" }, { 17, 1, "flags" }, { 18, 2, "padded" }, { 20, 4, "stream" }, { 24, 4, "value" },
		{ 28, 4, "stamp" },
	},
	OPEN = {
		size = 56,
		{ 16, 4, "own_qpn" }, { 20, 4, "peer_qpn" }, { 24, 4, "psn" }, { 28, 4, "stream" }, { 32, 4, "to_stream" },
		{ 36, 4, "credit" }, { 40, 4, "attempt" }, { 44, 1, "log_packets" }, { 45, 1, "log_messages" },
		{ 46, 1, "status" }, { 47, 1, "reads" }, { 48, 1, "open.flags" }, { 49, 1, "open.kind" },
		{ 50, 2, "reserved" }, { 52, 4, "stamp" },
	},
	HELLO = {
		size = 280,
		{ 16, 1, "version_min" }, { 17, 1, "version_max" }, { 18, 1, "npaths" }, { 19, 1, "nplanes" },
		{ 20, 1, "hello.flags" }, { 21, 1, "reason" }, { 22, 2, "max_payload" }, { 24, 8, "own_id" },
		{ 32, 8, "instance" }, { 40, 4, "half" }, { 44, 4, "serial" }, { 48, 8, "nonce" }, { 56, 16, "cookie" },
		{ 72, 16, "to" },
	},
	plane = {
		{ 0, 16, "plane.addr" }, { 16, 2, "plane.mtu" }, { 18, 2, "plane.flags" }, { 20, 4, "plane.speed" },
	},
	RESET = {
		size = 32,
		{ 16, 1, "reset.type" }, { 17, 7, "reserved" }, { 24, 8, "instance" },
	},
	VERIFY = {
		size = 40,
		{ 16, 8, "nonce" }, { 24, 8, "verify.echo" }, { 32, 1, "verify.flags" }, { 33, 7, "reserved" },
	},
	UD = {
		size = 40,
		{ 16, 4, "dst_qpn" }, { 20, 4, "src_qpn" }, { 24, 4, "qkey" }, { 28, 4, "imm" }, { 32, 2, "pkey" },
		{ 34, 1, "ud.flags" }, { 35, 1, "reserved" }, { 36, 4, "length" },
	},
	UC = {
		size = 56,
		{ 16, 4, "dst_qpn" }, { 20, 4, "src_qpn" }, { 24, 4, "spn" }, { 28, 4, "offset" }, { 32, 4, "length" },
		{ 36, 8, "addr" }, { 44, 4, "rkey" }, { 48, 4, "imm" }, { 52, 1, "opcode" }, { 53, 1, "flags" },
		{ 54, 2, "psize" },
	},
}
layouts.HELLO_ACK, layouts.OPEN_REPLY, layouts.PROBE = layouts.HELLO, layouts.OPEN, layouts.CONTROL

local function bit_set(value, mask)
	return math.floor(value / mask) % 2 == 1
end

-- Adds the fields of a layout; the values of those of up to four bytes, by name
local function fields(layout, range, tree, values)
	for _, row in ipairs(layout) do
		local part, name = range(row[1], row[2]), row[3]
		local item = tree:add(f[name], part)
		if row[2] <= 4 and row[2] ~= 3 then
			values[name] = part:uint()
		end
		local words = {}
		for _, bit in ipairs(flag_sets[name] or {}) do
			item:add(f[bit[1]], part)
			if bit_set(values[name], bit[3]) then
				table.insert(words, bit[2])
			end
		end
		if flag_sets[name] then
			values[name .. " words"] = table.concat(words, " ")
			item:append_text(" " .. values[name .. " words"])
		end
	end
	return values
end

-- ---- what was seen before, in the order of the capture

local WRAP, HALF = 2 ^ 32, 2 ^ 31
local function ahead(a, b) -- a - b, signed, modulo 2^32 [N4]
	local d = (a - b) % WRAP
	return d < HALF and d or d - WRAP
end

-- @width: numbers that are remembered below the highest: more than any window
local function space(width)
	return { width = width, frames = {} }
end
-- Numbers first to first + count - 1 were seen in @frame. How many were never seen before them; how many came after
-- higher ones; and of how many there was one already, in which frame
local function saw(s, first, count, frame)
	local gap, late, doubled, before = 0, 0, 0, nil
	if s.highest and ahead(first, s.highest) > 1 then
		gap = ahead(first, s.highest) - 1
	end
	for i = 0, count - 1 do
		local n = (first + i) % WRAP
		local d = s.highest and ahead(n, s.highest) or 1
		if s.frames[n] and d <= 0 and d > -s.width then
			doubled, before = doubled + 1, before or s.frames[n]
		else
			late = d > 0 and late or late + 1
			s.frames[n] = frame
		end
		if d > 0 then
			for old = 1, s.highest and math.min(d, s.width) or 0 do
				s.frames[(s.highest + old - s.width) % WRAP] = nil
			end
			s.frames[n] = frame
			s.highest = n
		end
	end
	return gap, late, doubled, before
end

-- spaces by their key; remarks by frame, and place in it: a frame is dissected more than once, and counts once
local paths, streams, remarks
function mroce.init()
	paths, streams, remarks = {}, {}, {}
end

-- ---- the types

-- A packet being dissected: @c.range from its first byte to the end of the datagram, @c.v its values, @c.tree.
-- Each function returns the bytes that it takes, and words for the list of packets.

local function bad(c, text)
	c.tree:add_proto_expert_info(e.malformed, "Malformed: " .. text)
	c.malformed = true
end

local function rest_as(c, name, from, length)
	if length > 0 then
		local held = math.min(length, c.range:len() - from)
		if held > 0 then
			c.tree:add(f[name], c.range(from, held))
		end
		if held < length then
			c.tree:add_proto_expert_info(e.cut)
		end
	end
end

local function numbers(v, name, count)
	local first = v[name]
	return count > 1 and string.format("%d-%d", first, (first + count - 1) % WRAP) or tostring(first)
end

-- What must hold between the fields of a packet or train of a message [M3]
local function check_message(c, payload)
	local v = c.v
	local first, last = bit_set(v.flags, 1), bit_set(v.flags, 2)
	local ends = v.offset + payload == v.length
	if v.offset % v.psize ~= 0 then
		bad(c, "the offset is no multiple of psize")
	elseif v.offset + payload > v.length then
		bad(c, "payload beyond the message")
	elseif first ~= (v.offset == 0) then
		bad(c, "FIRST and the offset disagree")
	elseif last ~= ends then
		bad(c, "LAST and the end of the payload disagree")
	elseif not ends and payload % v.psize ~= 0 then
		bad(c, "a packet within the message is short")
	elseif payload == 0 and v.length ~= 0 then
		bad(c, "empty, of a message that is not")
	end
end

local function data(c)
	local v, op = c.v, opcodes[c.v.opcode]
	local left = c.length - 76
	if not op then
		bad(c, "no such opcode")
		return c.length, "DATA"
	end
	local carries = op.carries == "message" and v.length or op.carries
	local whole = bit_set(v.flags, 1) and bit_set(v.flags, 2)
	-- what lies behind a whole message is the next packet [D7]
	local payload = whole and math.min(left, carries) or left
	local count = 1
	if v.psize == 0 then
		bad(c, "psize is 0")
	elseif bit_set(v.flags, 0x10) ~= (op.response or false) then
		bad(c, "RESPONSE and the opcode disagree")
	elseif op.carries == "message" then
		count = math.max(1, math.ceil(payload / v.psize))
		check_message(c, payload)
	elseif not whole or v.offset ~= 0 or payload ~= op.carries then
		bad(c, "not the one packet that such a message has")
	end
	if op.carries == 16 and c.range:len() >= 92 and payload == 16 then
		c.tree:add(f["atomic.operand"], c.range(76, 8))
		c.tree:add(f["atomic.swap"], c.range(84, 8))
	elseif op.carries == 8 and op.response and c.range:len() >= 84 and payload == 8 then
		c.tree:add(f["atomic.result"], c.range(76, 8))
	else
		rest_as(c, "payload", 76, payload)
	end
	if count > 1 then
		c.tree:add(f["number.last"], c.range(4, 4), (v.number + count - 1) % WRAP):set_generated()
		c.tree:add(f["spn.last"], c.range(20, 4), (v.spn + count - 1) % WRAP):set_generated()
	end
	c.tree:add(f.packets, c.range(0, 76), count):set_generated()
	if v.opcode == 18 then
		c.tree:add_proto_expert_info(e.refused, "The request has failed: " .. (nacks[v.imm] or "?"))
	end
	c.count, c.streamed = count, not c.malformed
	return 76 + payload, string.format("%s %s spn %s msn %d %d/%d [%s]", count > 1 and "DATA train" or "DATA", op.name,
		numbers(v, "spn", count), v.msn, v.offset + payload, v.length, v["flags words"])
end

-- The numbers below the anchor whose bits are clear, above the lowest one that is set, as ranges; and how many
local function clear_bits(range, anchor)
	local ranges, set, n, from = {}, {}, 0, nil
	local lowest = -1
	for word = 0, 3 do
		for half = 0, 1 do
			local value = range(word * 8 + 4 - half * 4, 4):uint()
			for bit = 0, 31 do
				local i = word * 64 + half * 32 + bit
				set[i] = value % 2 == 1
				value = math.floor(value / 2)
				lowest = set[i] and i or lowest
			end
		end
	end
	for i = lowest, 0, -1 do
		if not set[i] then
			n, from = n + 1, from or i
		end
		if from and (set[i] or i == 0) then
			local last = set[i] and i + 1 or i
			local a, b = (anchor - from) % WRAP, (anchor - last) % WRAP
			table.insert(ranges, a == b and tostring(a) or string.format("%d-%d", a, b))
			from = nil
		end
	end
	return table.concat(ranges, " "), n
end

local function ack(c)
	local v = c.v
	local size = 88 + v.records * 20
	local words = { string.format("ACK #%d received %d", v.number, v.received) }
	if v.marked > 0 then
		table.insert(words, string.format("marked %d", v.marked))
	end
	if v["ack.flags words"] ~= "" then
		table.insert(words, "[" .. v["ack.flags words"] .. "]")
	end
	if ahead(v.anchor, v.number) > 0 then
		bad(c, "the anchor is above the number")
	end
	-- in a PARTIAL one a clear bit means nothing [A3]
	if not bit_set(v["ack.flags"], 1) then
		local text, n = clear_bits(c.range(56, 32), v.anchor)
		if n > 0 then
			c.tree:add(f.missing, c.range(56, 32), text):set_generated()
			c.tree:add_proto_expert_info(e.missing, string.format("Not placed: %d: %s", n, text))
			table.insert(words, "missing " .. text)
		end
	end
	if v.records > 16 or c.length < size then
		bad(c, "more records than there may be, or are")
		return c.length, table.concat(words, " ")
	end
	for i = 0, v.records - 1 do
		if c.range:len() < 88 + (i + 1) * 20 then
			c.tree:add_proto_expert_info(e.cut)
			break
		end
		local part = c.range(88 + i * 20, 20)
		local sub = c.tree:add(mroce, part, "Record")
		local r = fields(layouts.record, part, sub, {})
		local text = records[r.record] or "?"
		if not records[r.record] or (r.record == 2 and not nacks[r.nack]) then
			bad(c, "a record of an unknown kind or reason")
		elseif r.record == 2 then
			text = string.format("NACK %s spn %d", nacks[r.nack], r.spn)
			sub:add_proto_expert_info(e.nack, string.format("Refused for %s: stream packet %d of message %d",
				nacks[r.nack], r.spn, r.value))
		end
		sub:set_text(string.format("Record: %s, stream 0x%x", text, r.stream))
		table.insert(words, text)
	end
	return size, table.concat(words, " ")
end

local function control(c)
	local v, name = c.v, controls[c.v.control]
	if not name or (name == "PROBE") ~= (types[v.type] == "PROBE") then
		bad(c, "the operation is not one of its type")
	end
	rest_as(c, "padding", 32, c.length - 32)
	if name == "PROBE" then
		return c.length, string.format("PROBE, %d bytes more", c.length - 32)
	end
	return c.length, string.format("CONTROL %s stream 0x%x value %d", name or "?", v.stream, v.value)
end

local function open(c)
	local v, reply = c.v, types[c.v.type] == "OPEN_REPLY"
	local text = string.format("queue pair 0x%x to 0x%x attempt %d", v.own_qpn, v.peer_qpn, v.attempt)
	if v.own_qpn > 0xffffff or v.peer_qpn > 0xffffff then
		bad(c, "more than 24 bits of a queue pair number")
	elseif v.log_packets > 17 or v.log_messages > 17 then
		bad(c, "a window beyond 2^17")
	elseif reply and not statuses[v.status] then
		bad(c, "no such status")
	end
	if not reply then
		return 56, "OPEN " .. text
	end
	if v.status ~= 0 and statuses[v.status] then
		c.tree:add_proto_expert_info(e.refused, statuses[v.status])
	end
	return 56, string.format("OPEN_REPLY %s %s", statuses[v.status] or "?", text)
end

local function hello(c)
	local v, name = c.v, types[c.v.type]
	local words = { name }
	if v.version_min == 0 or v.version_min > v.version_max then
		bad(c, "no range of versions")
	elseif v.nplanes > 8 or v.npaths > 64 then
		bad(c, "too many planes or paths")
	elseif name == "HELLO" and (v.nplanes == 0 or v.npaths == 0) then
		bad(c, "no planes or no paths")
	end
	for i = 0, math.min(v.nplanes, 8) - 1 do
		local part = c.range(88 + i * 24, 24)
		fields(layouts.plane, part, c.tree:add(mroce, part, string.format("Plane %d", i)), {})
	end
	if v["hello.flags words"] ~= "" then
		table.insert(words, "[" .. v["hello.flags words"] .. "]")
	end
	if bit_set(v["hello.flags"], 4) then
		c.tree:add_proto_expert_info(e.refused, "Refused: " .. (refusals[v.reason] or "?"))
		table.insert(words, refusals[v.reason])
	end
	table.insert(words, string.format("%d paths, %d planes, payload %d", v.npaths, v.nplanes, v.max_payload))
	return 280, table.concat(words, " ")
end

local function reset(c)
	local name = types[c.v["reset.type"]]
	if not name or name == "RESET" then
		bad(c, "about no packet that there is")
	end
	c.tree:add_proto_expert_info(e.reset)
	return 32, "RESET of " .. (name or "?")
end

local function verify(c)
	local v = c.v
	if c.range(16, 8):uint64() == UInt64(0) then
		bad(c, "no nonce")
	elseif bit_set(v["verify.flags"], 1) and c.range(24, 8):uint64() == UInt64(0) then
		bad(c, "a reply to nothing")
	end
	return 40, string.format("VERIFY [%s]", v["verify.flags words"])
end

local function ud(c)
	local v = c.v
	local payload = c.length - 40
	if v.dst_qpn > 0xffffff or v.src_qpn > 0xffffff then
		bad(c, "more than 24 bits of a queue pair number")
	elseif v.length ~= payload then
		bad(c, "the length is not what follows")
	end
	rest_as(c, "payload", 40, payload)
	return c.length, string.format("UD%s queue pair 0x%x to 0x%x, %d bytes", v.dst_qpn == 1 and " (GSI)" or "", v.src_qpn,
		v.dst_qpn, payload)
end

local function uc(c)
	local v, op = c.v, opcodes[c.v.opcode]
	local payload = c.length - 56
	if not op or not op.uc then
		bad(c, "no opcode of an unreliable connection")
	elseif v.dst_qpn > 0xffffff or v.src_qpn > 0xffffff then
		bad(c, "more than 24 bits of a queue pair number")
	elseif v.psize == 0 or payload > v.psize then
		bad(c, "psize is 0, or less than the payload")
	else
		check_message(c, payload)
	end
	rest_as(c, "payload", 56, payload)
	return c.length, string.format("UC %s psn %d %d/%d [%s]", op and op.name or "?", v.spn, v.offset + payload, v.length,
		v["flags words"])
end

local dissectors = {
	HELLO = hello, HELLO_ACK = hello, RESET = reset, OPEN = open, OPEN_REPLY = open, DATA = data, ACK = ack,
	CONTROL = control, PROBE = control, UD = ud, VERIFY = verify, UC = uc,
}
-- those that count on their path [N1]
local numbered = { OPEN = true, DATA = true, CONTROL = true, PROBE = true }
-- more of these may follow in the datagram [D7] [A1a]
local chained = { DATA = true, ACK = true }

-- ---- sequence

local ecn_v4, ecn_v6 = Field.new("ip.dsfield.ecn"), Field.new("ipv6.tclass.ecn")
local icmp_v4, icmp_v6 = Field.new("icmp.type"), Field.new("icmpv6.type")
local interface = Field.new("frame.interface_id")

local function space_of(all, key, width)
	all[key] = all[key] or space(width)
	return all[key]
end

-- What to remark on a packet: a list of (expert info, text). Called once for each packet, in the order of the capture
local function sequence(c, name, pinfo)
	local found = {}
	local v = c.v
	local where = interface()
	local from = string.format("%s %s %s", where and where.value or 0, tostring(pinfo.src), tostring(pinfo.dst))
	local again
	if numbered[name] then
		-- longer than the bitmap of ACKs, as nothing older is of interest to either side
		local s = space_of(paths, string.format("%s %s %d %d", from, c.id, v.path, v.epoch), 65536)
		local gap, late, doubled, before = saw(s, v.number, c.count, pinfo.number)
		if gap > 0 then
			table.insert(found, { e.gap, string.format("%d not seen before: %s", gap,
				numbers({ n = (v.number - gap) % WRAP }, "n", gap)) })
		end
		if late > 0 then
			table.insert(found, { e.late, string.format("%d came after higher numbers of the path", late) })
		end
		if doubled > 0 then
			again = true
			table.insert(found, { e.duplicate, string.format("%d seen already, first in frame %d", doubled, before) })
		end
	end
	if c.streamed and not again then
		-- the largest window that a stream can have [S3]
		local s = space_of(streams, string.format("%s %s %x %s", from, c.id, v.stream, bit_set(v.flags, 0x10)), 131072)
		local _, _, doubled, before = saw(s, v.spn, c.count, pinfo.number)
		if doubled > 0 then
			table.insert(found, { e.resent, string.format("%d sent before, first in frame %d", doubled, before) })
		end
	end
	if name == "UC" and not c.malformed then
		local s = space_of(paths, string.format("%s UC %x %x", from, v.src_qpn, v.dst_qpn), 65536)
		local gap, late, doubled, before = saw(s, v.spn, 1, pinfo.number)
		if gap > 0 then
			table.insert(found, { e.gap, string.format("%d not seen before", gap) })
		elseif late + doubled > 0 then
			table.insert(found, { doubled > 0 and e.duplicate or e.late,
				doubled > 0 and string.format("Seen already in frame %d", before) or "Came after higher numbers" })
		end
	end
	return found
end

-- ---- a datagram

-- One packet, which takes all that is left, or its part of it: bytes taken, words
local function packet(c, pinfo, place, quoted)
	c.v, c.count = {}, 1
	if c.range:len() < 16 then
		if c.length < 16 then
			bad(c, "shorter than any packet")
		else
			c.tree:add_proto_expert_info(e.cut)
		end
		return c.length, "?"
	end
	fields(layouts.base, c.range, c.tree, c.v)
	c.id = tostring(c.range(8, 8):uint64():tohex())
	local name = types[c.v.type]
	local layout = layouts[name]
	if not name or c.v.version == 0 or (c.v.version ~= 1 and layout ~= layouts.HELLO) then
		c.tree:add_proto_expert_info(e.unknown)
		return c.length, string.format("version %d type %d", c.v.version, c.v.type)
	end
	if c.length < layout.size then
		bad(c, "shorter than its type demands")
		return c.length, name
	elseif c.range:len() < layout.size then
		c.tree:add_proto_expert_info(e.cut)
		return c.length, name
	end
	fields(layout, c.range, c.tree, c.v)
	local taken, words = dissectors[name](c)
	c.chained = chained[name] and not c.malformed
	if numbered[name] then
		words = string.format("path %d #%s %s", c.v.path, numbers(c.v, "number", c.count), words)
	elseif name == "ACK" then
		words = string.format("path %d %s", c.v.path, words)
	end
	c.tree:append_text(": " .. words)
	if c.length > taken and not c.chained and not c.malformed then
		rest_as(c, "padding", taken, c.length - taken)
	end
	-- what an ICMP error quotes was seen before
	if not quoted then
		local seen = remarks[pinfo.number] or {}
		remarks[pinfo.number] = seen
		seen[place] = seen[place] or sequence(c, name, pinfo)
		for _, r in ipairs(seen[place]) do
			c.tree:add_proto_expert_info(r[1], r[2])
		end
	end
	return taken, words
end

function mroce.dissector(tvb, pinfo, tree)
	-- all packets go to the service port [D1]: what comes from it is of somebody who took it for his own
	if pinfo.dst_port ~= mroce.prefs.port and pinfo.src_port == mroce.prefs.port then
		return 0
	end
	local length, at, place, words = tvb:reported_len(), 0, 0, {}
	local quoted = icmp_v4() ~= nil or icmp_v6() ~= nil
	pinfo.cols.protocol = "MetaRoCE"
	repeat
		place = place + 1
		local sub = tree:add(mroce, tvb(at))
		local c = { range = tvb(at), length = length - at, tree = sub }
		local taken, said = packet(c, pinfo, place, quoted)
		sub:set_len(math.min(taken, tvb:len() - at))
		table.insert(words, said)
		if place == 1 then
			local ecn = ecn_v4() or ecn_v6()
			if ecn and ecn.value == 3 then
				sub:add_proto_expert_info(e.ce)
				words[1] = words[1] .. " CE"
			end
		end
		at = at + taken
	until not c.chained or at >= tvb:len()
	pinfo.cols.info = table.concat(words, " | ")
	return tvb:len()
end

local ports = DissectorTable.get("udp.port")
local port = mroce.prefs.port
ports:add(port, mroce)
function mroce.prefs_changed()
	ports:remove(port, mroce)
	port = mroce.prefs.port
	ports:add(port, mroce)
end
