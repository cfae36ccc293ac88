import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Filters of bloomx, the PostgreSQL extension, in Java: read, tested, built, merged and written.
 *
 * <p>Written from docs/internals/FORMAT.md; one file, Java 9 or newer, no dependencies. The layouts are the default one,
 * partitioned_blocked, and {@link Sealed}: sealed filters and maps; filters of other layouts are refused. A filter that nobody changes can be tested by many threads,
 * and can be sent to the tasks of a cluster.
 *
 * <pre>
 * BloomFilter filter = BloomFilter.fromBytes(row.getBytes(1));          // SELECT f::bytea
 * filter.contains(BloomFilter.text("somebody@example.org"));            // false: definitely not; true: possibly
 * </pre>
 */
public final class BloomFilter implements java.io.Serializable {
    private static final long serialVersionUID = 1;
    private static final int HEADER_BYTES = 44, PARTITIONED_BLOCKED = 4, GROUP = 8;
    private static final int NONE = 0, HASH = 254, NAMED = 255;
    private static final long GOLDEN_RATIO = 0x9E3779B97F4A7C15L;
    private static final String[] TYPES = {"none", "integer", "float", "numeric", "text", "bytea", "uuid", "boolean", "date", "time", "timetz",
        "timestamp", "timestamptz", "interval", "inet", "macaddr", "macaddr8", "oid", "money", "enum", "bpchar"};

    private final int blocks, parts;
    private final long seed;
    private final byte[] body;
    private int keyCode, expanded;
    private byte[] keyName;
    private long capacity;

    private BloomFilter(int blocks, int parts, long seed, byte[] body) {
        this.blocks = blocks;
        this.parts = parts;
        this.seed = seed;
        this.body = body;
    }

    /** A key: the code of its type and its canonical bytes. */
    public static final class Key {
        final int code;
        final byte[] bytes;

        Key(int code, byte[] bytes) {
            this.code = code;
            this.bytes = bytes;
        }

        /** What bloom_hash(key, seed) is in SQL. */
        public long hash(long seed) {
            return code == HASH ? words(bytes).getLong(0) : xxh3(bytes, seed);
        }
    }

    /** smallint, integer, bigint. */
    public static Key integer(long value) {
        return new Key(1, bytesOf(value));
    }

    /** double precision; for real, the value of the float. */
    public static Key float8(double value) {
        return new Key(2, bytesOf(Double.doubleToLongBits(value == 0 ? 0.0 : value)));
    }

    /** text, varchar, name, in a database of encoding UTF8. */
    public static Key text(String value) {
        return new Key(4, value.getBytes(StandardCharsets.UTF_8));
    }

    public static Key bytea(byte[] value) {
        return new Key(5, value.clone());
    }

    public static Key uuid(UUID value) {
        return new Key(6, ByteBuffer.allocate(16).putLong(value.getMostSignificantBits()).putLong(value.getLeastSignificantBits()).array());
    }

    public static Key bool(boolean value) {
        return new Key(7, new byte[] {(byte) (value ? 1 : 0)});
    }

    public static Key enumLabel(String label) {
        return new Key(19, label.getBytes(StandardCharsets.UTF_8));
    }

    /** A hash of bloom_hash(). */
    public static Key hash(long value) {
        return new Key(HASH, bytesOf(value));
    }

    /** Reads the bytes of f::bytea. */
    public static BloomFilter fromBytes(byte[] data) {
        if (data.length < HEADER_BYTES || data[0] != 'B' || data[1] != 'L' || data[2] != 'X')
            throw new IllegalArgumentException("these bytes are no filter of bloomx");
        if (data[3] != 1)
            throw new IllegalArgumentException("version " + data[3] + " of the format is not known, only 1");
        if (data[4] != PARTITIONED_BLOCKED)
            throw new IllegalArgumentException("only filters of layout partitioned_blocked, the default, can be read here");
        ByteBuffer header = words(data);
        int code = data[5] & 255, named = data[6] & 255, blocks = header.getInt(8), parts = header.getShort(36);
        int bodyAt = HEADER_BYTES + (named + 7) / 8 * 8;
        boolean right = header.getLong(28) == 64 && header.getShort(38) == 1 && header.getShort(40) == 0 && data[7] == 0 && data[43] == 0
            && (code < TYPES.length || code >= HASH) && (named != 0) == (code == NAMED) && named <= 63 && parts >= 1 && parts <= 64
            && blocks >= 1 && Integer.bitCount(blocks) == 1 && data.length == bodyAt + 8L * blocks * parts;
        for (int i = HEADER_BYTES + named; right && i < bodyAt; i++)
            right = data[i] == 0;
        if (!right)
            throw new IllegalArgumentException("these bytes are a damaged filter, or the state of an unfinished aggregate");
        BloomFilter filter = new BloomFilter(blocks, parts, header.getLong(12), Arrays.copyOfRange(data, bodyAt, data.length));
        filter.keyCode = code;
        filter.keyName = Arrays.copyOfRange(data, HEADER_BYTES, HEADER_BYTES + named);
        filter.capacity = header.getLong(20);
        filter.expanded = data[42];
        return filter;
    }

    /** Reads the text form: base64. */
    public static BloomFilter fromText(String text) {
        return fromBytes(Base64.getDecoder().decode(text));
    }

    /** An empty filter; take blocks (a power of two), parts and capacity of bloom_plan(), or read bloom_empty(). */
    public static BloomFilter empty(int blocks, int parts, long seed, long capacity) {
        BloomFilter filter = new BloomFilter(blocks, parts, seed, new byte[Math.multiplyExact(8 * parts, blocks)]);
        filter.keyName = new byte[0];
        filter.capacity = capacity;
        return fromBytes(filter.toBytes());
    }

    /** The name of the key type, such as "integer" or "text". */
    public String keyType() {
        return typeName(keyCode, keyName);
    }

    public byte[] toBytes() {
        int bodyAt = HEADER_BYTES + (keyName.length + 7) / 8 * 8;
        byte[] data = new byte[bodyAt + body.length];
        words(data).put(new byte[] {'B', 'L', 'X', 1, PARTITIONED_BLOCKED, (byte) keyCode, (byte) keyName.length, 0})
            .putInt(blocks).putLong(seed).putLong(capacity).putLong(64).putShort((short) parts).putShort((short) 1).putShort((short) 0)
            .put((byte) expanded).put((byte) 0).put(keyName);
        System.arraycopy(body, 0, data, bodyAt, body.length);
        return data;
    }

    public String toText() {
        return Base64.getEncoder().encodeToString(toBytes());
    }

    /** False: definitely not. True: possibly. */
    public boolean contains(Key key) {
        return keyCode == NONE || containsHash(hashOf(key));
    }

    public boolean containsHash(long hash) {
        return visit(hash, false);
    }

    public BloomFilter add(Key key) {
        long hash = keyCode == NONE ? key.hash(seed) : hashOf(key);
        keyCode = key.code;
        return addHash(hash);
    }

    public BloomFilter addHash(long hash) {
        if (keyCode == NONE)
            keyCode = HASH;
        visit(hash, true);
        return this;
    }

    /** Adds the keys of a filter of the same seed, key type and size. */
    public BloomFilter merge(BloomFilter other) {
        if (seed != other.seed || blocks != other.blocks || parts != other.parts)
            throw new IllegalArgumentException("the filters have other seeds or sizes");
        if (other.keyCode == NONE)
            return this;
        if (keyCode != NONE && !keyType().equals(other.keyType()))
            throw new IllegalArgumentException("the filters hold keys of types " + keyType() + " and " + other.keyType());
        keyCode = other.keyCode;
        keyName = other.keyName;
        for (int i = 0; i < body.length; i++)
            body[i] |= other.body[i];
        capacity = Math.max(capacity, other.capacity);
        expanded = Math.max(expanded, other.expanded);
        return this;
    }

    private long hashOf(Key key) {
        if (key.code != keyCode)
            throw new IllegalArgumentException("the filter holds keys of type " + keyType() + ", not " + typeName(key.code, new byte[0]));
        return key.hash(seed);
    }

    private static String typeName(int code, byte[] name) {
        return code == NAMED ? new String(name, StandardCharsets.UTF_8) : code == HASH ? "hash" : TYPES[code];
    }

    /** Sets the bits of a hash, or says whether all are set. */
    private boolean visit(long hash, boolean set) {
        for (int first = 0; first < parts; first += GROUP) {
            long word = first == 0 ? hash : xxh3(bytesOf(hash), first / GROUP);
            long block = blocks == 1 ? 0 : word >>> Integer.numberOfLeadingZeros(blocks) + 33;
            int here = Math.min(GROUP, parts - first);
            long x = word * GOLDEN_RATIO;
            for (int part = 0; part < here; part++) {
                int bit = (int) (x >>> 58 - 6 * part & 63);
                int at = (int) (8 * (first * (long) blocks + block * here + part)) + bit / 8;
                if (set)
                    body[at] |= 1 << bit % 8;
                else if ((body[at] >> bit % 8 & 1) == 0)
                    return false;
            }
        }
        return true;
    }

    /**
     * A sealed filter or a map, of layout binary_fuse: built once, of all its keys.
     *
     * <pre>
     * BloomFilter.Sealed map = BloomFilter.Sealed.fromBytes(row.getBytes(1));      // SELECT bloom_map_agg(...)::bytea
     * map.get(BloomFilter.integer(4711));                                          // its value; -1: definitely not there
     * </pre>
     */
    public static final class Sealed implements java.io.Serializable {
        private static final long serialVersionUID = 1;
        private static final int BINARY_FUSE = 12, BLOCK_KEYS = 1 << 18, ATTEMPTS = 64, WORDS_BEFORE_SALTS = 2;

        private final byte[] data;
        private final int keyCode, bodyAt, blocks, parts, slots, segment, valueBits;
        private final long seed, blockSlots, size;

        private Sealed(byte[] data) {
            ByteBuffer bytes = words(data);
            this.data = data;
            int named = data[6] & 255;
            keyCode = data[5] & 255;
            bodyAt = HEADER_BYTES + (named + 7) / 8 * 8;
            blocks = bytes.getInt(8);
            seed = bytes.getLong(12);
            blockSlots = bytes.getLong(28);
            parts = bytes.getShort(36);
            slots = bytes.getShort(38);
            require(data[7] == 0 && bytes.getShort(40) == 0 && data[42] == 0 && data[43] == 0 && data.length >= bodyAt + 16
                && (keyCode < TYPES.length || keyCode >= HASH) && (named != 0) == (keyCode == NAMED) && named <= 63);
            long parameter = bytes.getLong(bodyAt);
            segment = (int) parameter & 255;
            valueBits = (int) parameter >> 8 & 255;
            size = bytes.getLong(bodyAt + 8);
            require(parameter >>> 16 == 0 && segment <= 18 && valueBits <= 24 && parts >= Math.max(valueBits, 1) && parts - valueBits <= 32
                && slots == 4 && blocks >= 1 && blocks <= 1 << 20 && blockSlots < 1L << 32
                && blockSlots >= (long) slots << segment && blockSlots % (1L << segment) == 0 && size >= 0 && size <= blocks * blockSlots
                && (size == 0 || keyCode != NONE));
            long bits = blocks * blockSlots * parts;
            require(data.length == bodyAt + 8 * (WORDS_BEFORE_SALTS + blocks + (bits + 63) / 64 + 1) && bytes.getLong(data.length - 8) == 0
                && (bits % 64 == 0 || bytes.getLong(data.length - 16) >>> bits % 64 == 0));
            for (int i = HEADER_BYTES + named; i < bodyAt; i++)
                require(data[i] == 0);
            for (int block = 0; block < blocks; block++)
                require((salt(block) & 1) == 1);
        }

        private static void require(boolean right) {
            if (!right)
                throw new IllegalArgumentException("these bytes are a damaged filter");
        }

        /** Reads the bytes of f::bytea. */
        public static Sealed fromBytes(byte[] data) {
            if (data.length < HEADER_BYTES || data[0] != 'B' || data[1] != 'L' || data[2] != 'X' || data[3] != 1 || data[4] != BINARY_FUSE)
                throw new IllegalArgumentException("these bytes are no filter of layout binary_fuse");
            return new Sealed(data.clone());
        }

        /** Reads the text form: base64. */
        public static Sealed fromText(String text) {
            return fromBytes(Base64.getDecoder().decode(text));
        }

        /** The filter of keys of one type: false positive rate 2 to the power of minus fingerprintBits (0 to 32). */
        public static Sealed build(List<Key> keys, int fingerprintBits, long seed) {
            return build(keys, null, fingerprintBits, seed);
        }

        /** The map of keys to values of 0 to 16777215; without values (null), the filter. */
        public static Sealed build(List<Key> keys, int[] values, int fingerprintBits, long seed) {
            Map<Long, Integer> members = new HashMap<>();
            int code = keys.isEmpty() ? NONE : keys.get(0).code, largest = 0;
            for (int i = 0; i < keys.size(); i++) {
                int value = values == null ? 0 : values[i];
                if (keys.get(i).code != code || value < 0 || value >= 1 << 24)
                    throw new IllegalArgumentException("keys must be of one type, values from 0 to 16777215");
                Integer other = members.putIfAbsent(placed(keys.get(i).hash(seed), code), value);
                if (other != null && other != value)
                    throw new IllegalArgumentException("a key has two values, " + other + " and " + value);
                largest = Math.max(largest, value);
            }
            int valueBits = values == null ? 0 : Math.max(1, 32 - Integer.numberOfLeadingZeros(largest));
            int blocks = Math.max(1, (members.size() + BLOCK_KEYS - 1) / BLOCK_KEYS), parts = fingerprintBits + valueBits;
            List<Map<Long, Integer>> byBlock = new ArrayList<>();
            for (int block = 0; block < blocks; block++)
                byBlock.add(new HashMap<>());
            members.forEach((hash, value) -> byBlock.get((int) scale(hash, blocks)).put(hash, value));
            int fullest = byBlock.stream().mapToInt(Map::size).max().getAsInt(), segment = segmentOf(fullest);
            long blockSlots = slotsOf(fullest, segment), bits = blocks * blockSlots * parts;
            if (fingerprintBits < 0 || fingerprintBits > 32 || parts == 0)
                throw new IllegalArgumentException("a fingerprint has 0 to 32 bits, and a slot at least one");
            byte[] data = new byte[Math.toIntExact(HEADER_BYTES + 8 * (WORDS_BEFORE_SALTS + blocks + (bits + 63) / 64 + 1))];
            words(data).put(new byte[] {'B', 'L', 'X', 1, BINARY_FUSE, (byte) code, 0, 0}).putInt(blocks).putLong(seed).putLong(members.size())
                .putLong(blockSlots).putShort((short) parts).putShort((short) 4).putInt(0).putLong(segment | valueBits << 8).putLong(members.size());
            for (int block = 0; block < blocks; block++)
                words(data).putLong(HEADER_BYTES + 8 * (WORDS_BEFORE_SALTS + block), 1);
            Sealed filter = new Sealed(data);
            for (int block = 0; block < blocks; block++)
                filter.fill(block, byBlock.get(block));
            return filter;
        }

        /** log2 of the slots of a segment, if the fullest block has so many keys. */
        private static int segmentOf(int fullest) {
            return fullest < 2 ? 0 : (int) Math.min(Math.max((1000 * log2(fullest) / 1541 - 32768) / 65536, 1), 18);
        }

        private static long slotsOf(int fullest, int segment) {
            if (fullest < 2)
                return 4;
            long perKey = Math.max(70451, 50463 + 383713L * 65536 / log2(fullest)), length = 1L << segment;
            long wanted = (fullest * perKey + 65535) / 65536;
            return Math.max((wanted + length - 1) / length * length, 4 * length);
        }

        /** In 1/65536. */
        private static long log2(int n) {
            int k = 31 - Integer.numberOfLeadingZeros(n);
            return 65536L * k + (65536L * n / (1 << k) - 65536);
        }

        /** Fills the slots of a block with the first salt that does. */
        private void fill(int block, Map<Long, Integer> members) {
            int n = (int) blockSlots;
            for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
                long salt = attempt == 0 && blocks == 1 ? 1 : xxh3(bytesOf(attempt), 0) | 1;
                int[] counts = new int[n], values = new int[n], order = new int[members.size()], queue = new int[n];
                long[] sums = new long[n];
                int peeled = 0, queued = 0, most = 0;
                for (Map.Entry<Long, Integer> member : members.entrySet()) {
                    long u = member.getKey() * salt;
                    for (int i = 0; i < slots; i++) {
                        int slot = (int) slot(u, i);
                        most = Math.max(most, ++counts[slot]);
                        sums[slot] ^= u;
                        values[slot] ^= member.getValue();
                    }
                }
                for (int slot = 0; slot < n; slot++)
                    if (counts[slot] == 1)
                        queue[queued++] = slot;
                for (int next = 0; next < queued && most < 255; next++) {
                    int slot = queue[next];
                    if (counts[slot] == 0)
                        continue;
                    order[peeled++] = slot;
                    long u = sums[slot];
                    int value = values[slot];
                    for (int i = 0; i < slots; i++) {
                        int other = (int) slot(u, i);
                        if (--counts[other] == 1)
                            queue[queued++] = other;
                        if (other != slot) {
                            sums[other] ^= u;
                            values[other] ^= value;
                        }
                    }
                }
                if (peeled < members.size())
                    continue;
                words(data).putLong(bodyAt + 8 * (WORDS_BEFORE_SALTS + block), salt);
                while (peeled-- > 0) {
                    long u = sums[order[peeled]], wanted = fingerprint(u) << valueBits | values[order[peeled]];
                    for (int i = 0; i < slots; i++)
                        wanted ^= slot(u, i) == order[peeled] ? 0 : read(block, slot(u, i));
                    long bit = (block * blockSlots + order[peeled]) * parts;
                    int at = slotsAt() + (int) (bit / 8);
                    words(data).putLong(at, words(data).getLong(at) | wanted << bit % 8);
                }
                return;
            }
            throw new IllegalStateException("no filter was found for these keys; use another seed");
        }

        /** The name of the key type, such as "integer" or "text". */
        public String keyType() {
            return typeName(keyCode, Arrays.copyOfRange(data, HEADER_BYTES, HEADER_BYTES + (data[6] & 255)));
        }

        /** The number of keys. */
        public long size() {
            return size;
        }

        public byte[] toBytes() {
            return data.clone();
        }

        public String toText() {
            return Base64.getEncoder().encodeToString(data);
        }

        /** False: definitely not. True: possibly. */
        public boolean contains(Key key) {
            return get(key) >= 0;
        }

        /** The value of a key of a map (0 if the filter is none); -1: definitely not there. */
        public int get(Key key) {
            if (size > 0 && key.code != keyCode)
                throw new IllegalArgumentException("the filter holds keys of type " + keyType() + ", not " + typeName(key.code, new byte[0]));
            return getHash(key.hash(seed));
        }

        public int getHash(long hash) {
            if (size == 0)
                return -1;
            long h = placed(hash, keyCode), x = 0;
            int block = (int) scale(h, blocks);
            long u = h * salt(block);
            for (int i = 0; i < slots; i++)
                x ^= read(block, slot(u, i));
            return x >>> valueBits == fingerprint(u) ? (int) (x & (1L << valueBits) - 1) : -1;
        }

        /** Ready-made hashes are hashed once more: they need not be uniform. */
        private static long placed(long hash, int keyCode) {
            return keyCode == HASH ? xxh3(bytesOf(hash), 1) : hash;
        }

        private static long scale(long h, long n) {
            return Math.multiplyHigh(h, n) + (h >> 63 & n);
        }

        private long salt(int block) {
            return words(data).getLong(bodyAt + 8 * (WORDS_BEFORE_SALTS + block));
        }

        private int slotsAt() {
            return bodyAt + 8 * (WORDS_BEFORE_SALTS + blocks);
        }

        private long slot(long u, int i) {
            long first = scale(u, blockSlots - ((long) (slots - 1) << segment));
            return i == 0 ? first : first + ((long) i << segment) ^ u >>> (i - 1) * segment & (1L << segment) - 1;
        }

        private long fingerprint(long u) {
            return u * GOLDEN_RATIO >>> 32 & (1L << parts - valueBits) - 1;
        }

        private long read(int block, long slot) {
            long bit = (block * blockSlots + slot) * parts;
            return words(data).getLong(slotsAt() + (int) (bit / 8)) >>> bit % 8 & (1L << parts) - 1;
        }
    }

    // ---- XXH3_64bits_withSeed ----

    private static final long PRIME32_1 = 0x9E3779B1L, PRIME32_2 = 0x85EBCA77L, PRIME32_3 = 0xC2B2AE3DL;
    private static final long PRIME64_1 = 0x9E3779B185EBCA87L, PRIME64_2 = 0xC2B2AE3D27D4EB4FL, PRIME64_3 = 0x165667B19E3779F9L;
    private static final long PRIME64_4 = 0x85EBCA77C2B2AE63L, PRIME64_5 = 0x27D4EB2F165667C5L;
    private static final long PRIME_MX1 = 0x165667919E3779F9L, PRIME_MX2 = 0x9FB21C651E98DF25L;
    private static final ByteBuffer SECRET = words(Base64.getDecoder().decode(
        "uP5sOSOkS758AYEs9yGtHN7UbemDkJfbckCkpLezZx/LeeZOzMDleIJa0H3M/3IhuAhGdPdDJI7gNZDmgTomTDwoUruRwwDLiNBlixtTLqNxZEiXog35TjgZ70ap3qzY"
        + "qPp2P+OcND/53LvHxwtPHYpR4EvNtFkxyJ9+ydl4c2TqxayDNNPrw8WBoP/6E2PrFw3dUbfw2knTFlUmKdRonisWvlh9R6H8j/i40XrQMc5FyzqPlRYEKK/X+8q7S0B+"));

    private static ByteBuffer words(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static byte[] bytesOf(long value) {
        return words(new byte[8]).putLong(value).array();
    }

    /** The exclusive or of the two halves of the unsigned product. */
    private static long fold128(long a, long b) {
        return a * b ^ Math.multiplyHigh(a, b) + (a >> 63 & b) + (b >> 63 & a);
    }

    private static long avalanche(long h) {
        h ^= h >>> 37;
        h *= PRIME_MX1;
        return h ^ h >>> 32;
    }

    private static long avalancheXxh64(long h) {
        h ^= h >>> 33;
        h *= PRIME64_2;
        h ^= h >>> 29;
        h *= PRIME64_3;
        return h ^ h >>> 32;
    }

    private static long mix16(ByteBuffer data, int at, int secretAt, long seed) {
        return fold128(data.getLong(at) ^ SECRET.getLong(secretAt) + seed, data.getLong(at + 8) ^ SECRET.getLong(secretAt + 8) - seed);
    }

    private static long unsigned(int value) {
        return value & 0xFFFFFFFFL;
    }

    /** XXH3_64bits_withSeed. */
    public static long xxh3(byte[] bytes, long seed) {
        ByteBuffer data = words(bytes);
        int n = bytes.length;
        return n <= 16 ? upTo16(data, n, seed) : n <= 128 ? upTo128(data, n, seed) : n <= 240 ? upTo240(data, n, seed) : longer(data, n, seed);
    }

    private static long upTo16(ByteBuffer data, int n, long seed) {
        if (n == 0)
            return avalancheXxh64(seed ^ SECRET.getLong(56) ^ SECRET.getLong(64));
        if (n <= 3) {
            int combined = (data.get(0) & 255) << 16 | (data.get(n >> 1) & 255) << 24 | data.get(n - 1) & 255 | n << 8;
            return avalancheXxh64(unsigned(combined) ^ unsigned(SECRET.getInt(0) ^ SECRET.getInt(4)) + seed);
        }
        if (n <= 8) {
            seed ^= unsigned(Integer.reverseBytes((int) seed)) << 32;
            long h = (unsigned(data.getInt(n - 4)) | (long) data.getInt(0) << 32) ^ (SECRET.getLong(8) ^ SECRET.getLong(16)) - seed;
            h ^= Long.rotateLeft(h, 49) ^ Long.rotateLeft(h, 24);
            h *= PRIME_MX2;
            h ^= (h >>> 35) + n;
            h *= PRIME_MX2;
            return h ^ h >>> 28;
        }
        long low = data.getLong(0) ^ (SECRET.getLong(24) ^ SECRET.getLong(32)) + seed;
        long high = data.getLong(n - 8) ^ (SECRET.getLong(40) ^ SECRET.getLong(48)) - seed;
        return avalanche(n + Long.reverseBytes(low) + high + fold128(low, high));
    }

    private static long upTo128(ByteBuffer data, int n, long seed) {
        long total = n * PRIME64_1;
        for (int i = 0; i <= (n - 1) >> 5; i++)     // pairs of chunks, from both ends inwards
            total += mix16(data, 16 * i, 32 * i, seed) + mix16(data, n - 16 * (i + 1), 32 * i + 16, seed);
        return avalanche(total);
    }

    private static long upTo240(ByteBuffer data, int n, long seed) {
        long total = n * PRIME64_1;
        for (int i = 0; i < 8; i++)
            total += mix16(data, 16 * i, 16 * i, seed);
        total = avalanche(total);
        for (int i = 8; i < n >> 4; i++)
            total += mix16(data, 16 * i, 16 * (i - 8) + 3, seed);
        return avalanche(total + mix16(data, n - 16, 136 - 17, seed));
    }

    private static long longer(ByteBuffer data, int n, long seed) {
        ByteBuffer secret = words(new byte[SECRET.capacity()]);
        for (int at = 0; at < secret.capacity(); at += 16)
            secret.putLong(at, SECRET.getLong(at) + seed).putLong(at + 8, SECRET.getLong(at + 8) - seed);
        long[] lanes = {PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1};
        int end = secret.capacity() - 64, stripes = (n - 1) / 64;     // all but the last, which may overlap
        for (int stripe = 0; stripe < stripes; stripe++) {
            accumulate(lanes, data, 64 * stripe, secret, 8 * (stripe % 16));
            for (int i = 0; stripe % 16 == 15 && i < 8; i++)
                lanes[i] = (lanes[i] ^ lanes[i] >>> 47 ^ secret.getLong(end + 8 * i)) * PRIME32_1;
        }
        accumulate(lanes, data, n - 64, secret, end - 7);
        long total = n * PRIME64_1;
        for (int i = 0; i < 4; i++)
            total += fold128(lanes[2 * i] ^ secret.getLong(11 + 16 * i), lanes[2 * i + 1] ^ secret.getLong(19 + 16 * i));
        return avalanche(total);
    }

    private static void accumulate(long[] lanes, ByteBuffer data, int at, ByteBuffer secret, int secretAt) {
        for (int i = 0; i < 8; i++) {
            long value = data.getLong(at + 8 * i), key = value ^ secret.getLong(secretAt + 8 * i);
            lanes[i ^ 1] += value;
            lanes[i] += unsigned((int) key) * (key >>> 32);
        }
    }
}
