// SPDX-License-Identifier: GPL-2.0
/*
 * Unreliable connections: what a message is cut into, and which packets of it are taken when some
 * are lost, repeated or late.
 */
#include "suites.h"
#include "../drivers/mroce/transport/uc.h"

#define FIRST_PSN	0xfffffe
#define PSIZE		1024

static struct mroce_uc message(u8 opcode, u32 psn, u32 length)
{
	return (struct mroce_uc){
		.dst_qpn = 20, .src_qpn = 21, .psn = psn, .length = length, .psize = PSIZE,
		.opcode = opcode, .addr = 0x10000, .rkey = 5, .imm = 6, .flags = MROCE_F_SOLICITED,
	};
}

/* packet @i of @m comes */
static enum mroce_reason comes(struct mroce_uc_rx *r, const struct mroce_uc *m, u32 i)
{
	struct mroce_uc p;
	u32 bytes = mroce_uc_cut(m, i, &p);

	return mroce_uc_arrive(r, &p, bytes);
}

/* every packet is one that the parser takes, and together they are the message */
static void cut(struct kunit *test)
{
	static const u32 lengths[] = { 0, 1, PSIZE - 1, PSIZE, PSIZE + 1, 5 * PSIZE,
				       5 * PSIZE + 7 };
	static const u8 opcodes[] = { MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_WRITE,
				      MROCE_OP_WRITE_IMM };
	u8 buf[sizeof(struct mroce_wire_uc)];
	u32 i, k, n, bytes, sum;
	struct mroce_uc p, q;

	for (k = 0; k < ARRAY_SIZE(lengths) * ARRAY_SIZE(opcodes); k++) {
		struct mroce_uc m = message(opcodes[k % 4], FIRST_PSN, lengths[k / 4]);

		n = mroce_packets(m.opcode, m.length, m.psize);
		for (i = 0, sum = 0; i < n; i++, sum += bytes) {
			bytes = mroce_uc_cut(&m, i, &p);
			KUNIT_EXPECT_EQ(test, mroce_build_uc(buf, &p), sizeof(buf));
			KUNIT_ASSERT_EQ(test, mroce_parse_uc(buf, sizeof(buf), bytes, &q), 0);
			KUNIT_EXPECT_EQ(test, q.psn, FIRST_PSN + i);
			KUNIT_EXPECT_EQ(test, q.offset, sum);
			KUNIT_EXPECT_EQ(test, q.addr,
					m.addr + (mroce_opinfo[m.opcode].rdma ? sum : 0));
			KUNIT_EXPECT_EQ(test, q.flags, MROCE_F_SOLICITED |
					(i ? 0 : MROCE_F_FIRST) | (i + 1 < n ? 0 : MROCE_F_LAST));
			KUNIT_EXPECT_EQ(test, q.imm, m.imm);
			KUNIT_EXPECT_EQ(test, q.rkey, m.rkey);
			KUNIT_EXPECT_EQ(test, q.length, m.length);
			/* a byte more or less is another packet */
			KUNIT_EXPECT_NE(test, mroce_parse_uc(buf, sizeof(buf), bytes + 1, &q), 0);
			if (bytes)
				KUNIT_EXPECT_NE(test, mroce_parse_uc(buf, sizeof(buf), bytes - 1,
								     &q), 0);
		}
		KUNIT_EXPECT_EQ(test, sum, m.length);
	}
}

static void malformed(struct kunit *test)
{
	struct mroce_uc good = message(MROCE_OP_SEND, 0, 4 * PSIZE), bad, p;
	u8 buf[sizeof(struct mroce_wire_uc)];
	u32 op;

#define EXPECT_BAD(payload, set, error)							\
	do {										\
		mroce_uc_cut(&good, 1, &bad);						\
		set;									\
		mroce_build_uc(buf, &bad);						\
		KUNIT_EXPECT_EQ(test, mroce_parse_uc(buf, sizeof(buf), payload, &p), error);	\
	} while (0)
	EXPECT_BAD(PSIZE, (void)0, 0);
	EXPECT_BAD(PSIZE, bad.dst_qpn = 1 << 24, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.src_qpn = 1 << 24, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.psize = 0, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.psize = PSIZE - 1, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.offset = PSIZE + 1, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.offset = 0, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.offset = 4 * PSIZE, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.flags |= MROCE_F_FIRST, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.flags |= MROCE_F_LAST, -EBADMSG);
	EXPECT_BAD(PSIZE, bad.length = 2 * PSIZE, -EBADMSG);
	EXPECT_BAD(0, bad.length = PSIZE, -EBADMSG);
	for (op = 0; op < 256; op++) {
		bool uc = op == MROCE_OP_SEND || op == MROCE_OP_SEND_IMM || op == MROCE_OP_WRITE ||
			  op == MROCE_OP_WRITE_IMM;

		EXPECT_BAD(PSIZE, bad.opcode = op, uc ? 0 : -EOPNOTSUPP);
	}
#undef EXPECT_BAD
	KUNIT_EXPECT_EQ(test, mroce_parse_uc(buf, sizeof(buf) - 1, PSIZE, &p), -EBADMSG);
}

static void in_order(struct kunit *test)
{
	struct mroce_uc_rx r;
	u32 psn = 0xfffffff0, k, i;

	mroce_uc_start(&r, psn);
	/* over the end of the numbers, too */
	for (k = 0; k < 20; k++) {
		struct mroce_uc m = message(MROCE_OP_SEND, psn, 3 * PSIZE);

		for (i = 0; i < 3; i++)
			KUNIT_EXPECT_EQ(test, comes(&r, &m, i), MROCE_REASON_NONE);
		psn += 3;
	}
}

/* whichever packet is lost, the rest of its message is dropped, and the next message is taken */
static void a_gap_ends_the_message(struct kunit *test)
{
	struct mroce_uc_rx r;
	u32 lost, i;

	for (lost = 0; lost < 4; lost++) {
		struct mroce_uc m = message(MROCE_OP_WRITE_IMM, FIRST_PSN, 4 * PSIZE);
		struct mroce_uc next = message(MROCE_OP_SEND, FIRST_PSN + 4, 2 * PSIZE);

		mroce_uc_start(&r, FIRST_PSN);
		for (i = 0; i < lost; i++)
			KUNIT_EXPECT_EQ(test, comes(&r, &m, i), MROCE_REASON_NONE);
		for (i = lost + 1; i < 4; i++)
			KUNIT_EXPECT_EQ(test, comes(&r, &m, i), MROCE_REASON_RX_GAP);
		for (i = 0; i < 2; i++)
			KUNIT_EXPECT_EQ(test, comes(&r, &next, i), MROCE_REASON_NONE);
	}
}

static void late_and_twice(struct kunit *test)
{
	struct mroce_uc m = message(MROCE_OP_SEND, FIRST_PSN, 3 * PSIZE);
	struct mroce_uc next = message(MROCE_OP_SEND, FIRST_PSN + 3, 2 * PSIZE);
	struct mroce_uc_rx r;

	mroce_uc_start(&r, FIRST_PSN);
	KUNIT_EXPECT_EQ(test, comes(&r, &m, 0), MROCE_REASON_NONE);
	/* a duplicate ends nothing */
	KUNIT_EXPECT_EQ(test, comes(&r, &m, 0), MROCE_REASON_RX_DUPLICATE);
	KUNIT_EXPECT_EQ(test, comes(&r, &m, 1), MROCE_REASON_NONE);
	/* the next message overtakes the last packet, which is then too late */
	KUNIT_EXPECT_EQ(test, comes(&r, &next, 0), MROCE_REASON_NONE);
	KUNIT_EXPECT_EQ(test, comes(&r, &m, 2), MROCE_REASON_RX_DUPLICATE);
	KUNIT_EXPECT_EQ(test, comes(&r, &next, 1), MROCE_REASON_NONE);
}

static void refused(struct kunit *test)
{
	struct mroce_uc m = message(MROCE_OP_SEND, FIRST_PSN, 3 * PSIZE);
	struct mroce_uc next = message(MROCE_OP_SEND, FIRST_PSN + 3, 0);
	struct mroce_uc_rx r;

	mroce_uc_start(&r, FIRST_PSN);
	KUNIT_EXPECT_EQ(test, comes(&r, &m, 0), MROCE_REASON_NONE);
	mroce_uc_refuse(&r);
	KUNIT_EXPECT_EQ(test, comes(&r, &m, 1), MROCE_REASON_RX_GAP);
	KUNIT_EXPECT_EQ(test, comes(&r, &m, 2), MROCE_REASON_RX_GAP);
	KUNIT_EXPECT_EQ(test, comes(&r, &next, 0), MROCE_REASON_NONE);
}

/* a packet that claims to go on, but with another message than was begun */
static void another_message(struct kunit *test)
{
	u32 k;

	for (k = 0; k < 4; k++) {
		struct mroce_uc m = message(MROCE_OP_SEND, FIRST_PSN, 4 * PSIZE), other = m;
		struct mroce_uc_rx r;

		mroce_uc_start(&r, FIRST_PSN);
		KUNIT_EXPECT_EQ(test, comes(&r, &m, 0), MROCE_REASON_NONE);
		if (k == 0)
			other.opcode = MROCE_OP_WRITE;
		else if (k == 1)
			other.length += PSIZE;
		else if (k == 2)
			other.psize = PSIZE / 2;
		else
			other.psn--;	/* its third packet has the number of the second */
		KUNIT_EXPECT_EQ(test, comes(&r, &other, k == 3 ? 2 : 1),
				MROCE_REASON_RX_MALFORMED);
		KUNIT_EXPECT_EQ(test, comes(&r, &m, 2), MROCE_REASON_RX_GAP);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(cut),
	KUNIT_CASE(malformed),
	KUNIT_CASE(in_order),
	KUNIT_CASE(a_gap_ends_the_message),
	KUNIT_CASE(late_and_twice),
	KUNIT_CASE(refused),
	KUNIT_CASE(another_message),
	{}
};

struct kunit_suite mroce_uc_suite = {
	.name = "mroce_uc",
	.test_cases = cases,
};
