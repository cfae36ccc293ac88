import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The golden vectors of test/python/golden.json, byte for byte; the argument is that file. It has one vector per line.
 * A second argument is a file with the text of bloom_agg(n, bloom_empty(1, 0.00390625, 'binary_fuse')) of the numbers below 300000.
 * Ends with "N passed, N failed".
 */
public class GoldenTest {
    static int passed, failed;

    static void check(String name, Object got, Object expected) {
        if (Objects.equals(got, expected)) {
            passed++;
        } else {
            failed++;
            System.out.println("not ok - " + name + "\n#  expected " + expected + "\n#       got " + got);
        }
    }

    static void refused(String name, Runnable action) {
        try {
            action.run();
            check(name, "no error", "an error");
        } catch (IllegalArgumentException error) {
            check(name, error.getMessage().isEmpty(), false);
        }
    }

    static byte[] bytes(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++)
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        return bytes;
    }

    static String field(String line, String pattern) {
        Matcher found = Pattern.compile(pattern).matcher(line);
        return found.find() ? found.group(1) : null;
    }

    public static void main(String[] args) throws Exception {
        long[] seeds = {0, 0x9E3779B97F4A7C15L};
        int hashes = 0, keys = 0, filters = 0;
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] hash = {field(line, "\"hash\": \\[\"0x(\\w+)\""), field(line, "\"hash\": \\[\"0x\\w+\", \"0x(\\w+)\"")};
            String length = field(line, "\"length\": (\\d+), \"hash\""), sql = field(line, "\"sql\": \"([^\"]+)\", \"canonical\": \"\\w*\", \"hash\"");
            for (int i = 0; i < 2 && length != null; i++, hashes++) {
                byte[] data = new byte[Integer.parseInt(length)];
                for (int at = 0; at < data.length; at++)
                    data[at] = (byte) (at % 251);
                check("xxh3 of " + length, String.format("%016x", BloomFilter.xxh3(data, seeds[i])), hash[i]);
            }
            BloomFilter.Key key = sql == null ? null : key(sql);
            for (int i = 0; i < 2 && key != null; i++, keys++)
                check(sql, String.format("%016x", key.hash(seeds[i])), hash[i]);
            if (line.contains("\"layout\": \"")) {
                filter(line);
                filters++;
            }
        }
        check("vectors were read", hashes >= 60 && keys >= 50 && filters >= 40, true);
        BloomFilter filter = BloomFilter.empty(16, 8, 0, 1000);
        for (int n = 0; n < 500; n++)
            filter.add(BloomFilter.integer(n));
        java.io.ByteArrayOutputStream sent = new java.io.ByteArrayOutputStream();
        new java.io.ObjectOutputStream(sent).writeObject(filter);
        Object received = new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(sent.toByteArray())).readObject();
        check("sent to a task", ((BloomFilter) received).toText(), filter.toText());
        java.util.List<BloomFilter.Key> many = new java.util.ArrayList<>();
        for (int n = 0; n < 300000; n++)
            many.add(BloomFilter.integer(n));
        BloomFilter.Sealed two = BloomFilter.Sealed.build(many, 8, 0);
        boolean found = true;
        int others = 0;
        for (int n = 0; n < 300000; n++) {
            found &= two.contains(many.get(n));
            others += two.contains(BloomFilter.integer(n + 300000)) ? 1 : 0;
        }
        check("a filter of two blocks has its keys", found, true);
        check("and others at the rate", Math.abs(others - 300000 / 256) < 180, true);
        if (args.length > 1)
            check("and the bytes that SQL makes", two.toText(), Files.readString(Path.of(args[1])).trim());
        refused("two values of one key", () -> BloomFilter.Sealed.build(java.util.List.of(BloomFilter.integer(1), BloomFilter.integer(1)), new int[] {3, 7}, 8, 0));
        refused("no sealed filter", () -> BloomFilter.Sealed.fromBytes(filter.toBytes()));
        refused("a key of another type", () -> filter.contains(BloomFilter.text("5")));
        refused("no filter", () -> BloomFilter.fromBytes(new byte[3]));
        refused("a byte cut off", () -> BloomFilter.fromBytes(java.util.Arrays.copyOf(filter.toBytes(), filter.toBytes().length - 1)));
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed > 0 ? 1 : 0);
    }

    /** The key that SQL writes so, if there is a function for it. */
    static BloomFilter.Key key(String sql) {
        String found;
        if ((found = field(sql, "^(-?\\d+)::int[248]$")) != null)
            return BloomFilter.integer(Long.parseLong(found));
        if ((found = field(sql, "^'([a-z ]*)'::(?:text|varchar)$")) != null)
            return BloomFilter.text(found);
        if ((found = field(sql, "^'([-0-9a-f]{36})'::uuid$")) != null)
            return BloomFilter.uuid(java.util.UUID.fromString(found));
        if ((found = field(sql, "^'?(-?[0-9.e+-]+)'?::float8$")) != null)
            return BloomFilter.float8(Double.parseDouble(found));
        if ((found = field(sql, "^(true|false)$")) != null)
            return BloomFilter.bool(found.equals("true"));
        return null;
    }

    static void filter(String line) {
        String name = field(line, "\"name\": \"([^\"]+)\""), text = field(line, "\"text\": \"([^\"]+)\"");
        if (line.contains("\"layout\": \"binary_fuse\""))
            sealed(name, text, line);
        if (!"partitioned_blocked".equals(field(line, "\"layout\": \"(\\w+)\""))) {
            refused(name, () -> BloomFilter.fromText(text));
            return;
        }
        BloomFilter filter = BloomFilter.fromText(text);
        check(name + ": key type", filter.keyType(), field(line, "\"key_type\": \"([^\"]+)\""));
        check(name + ": written as it was read", filter.toText(), text);
        BloomFilter copy = BloomFilter.fromText(text);
        check(name + ": merged with itself", copy.merge(filter).toText(), text);
        long seed = Long.parseUnsignedLong(field(line, "\"seed\": \"0x(\\w+)\""), 16);
        BloomFilter built = BloomFilter.empty(Integer.parseInt(field(line, "\"blocks\": (\\d+)")), Integer.parseInt(field(line, "\"parts\": (\\d+)")), seed, 0);
        boolean all = true;
        for (Matcher key = Pattern.compile("\"canonical\": \"(\\w*)\"").matcher(line); key.find(); ) {
            byte[] canonical = bytes(key.group(1));
            long hash = filter.keyType().equals("hash") ? java.nio.ByteBuffer.wrap(canonical).order(java.nio.ByteOrder.LITTLE_ENDIAN).getLong() : BloomFilter.xxh3(canonical, seed);
            all &= filter.containsHash(hash);
            built.addHash(hash);
        }
        check(name + ": has its keys", all, true);
        byte[] expected = filter.toBytes(), got = built.toBytes();
        int body = got.length - 44;             // behind the header and the name of the key type
        check(name + ": built here", java.util.Arrays.equals(expected, expected.length - body, expected.length, got, 44, got.length), true);
    }

    static void sealed(String name, String text, String line) {
        BloomFilter.Sealed filter = BloomFilter.Sealed.fromText(text);
        check(name + ": key type", filter.keyType(), field(line, "\"key_type\": \"([^\"]+)\""));
        String values = field(line, "\"values\": \\[([^\\]]*)\\]");
        int[] value = values == null ? null : java.util.Arrays.stream(values.split(", ")).mapToInt(Integer::parseInt).toArray();
        java.util.List<BloomFilter.Key> keys = new java.util.ArrayList<>();
        int code = java.util.Base64.getDecoder().decode(text)[5] & 255;
        for (Matcher key = Pattern.compile("\"canonical\": \"(\\w*)\"").matcher(line); key.find(); )
            keys.add(new BloomFilter.Key(code, bytes(key.group(1))));
        check(name + ": keys", filter.size(), (long) keys.size());
        boolean all = true;
        for (int i = 0; i < keys.size(); i++)
            all &= filter.get(keys.get(i)) == (value == null ? 0 : value[i]);
        check(name + ": has its keys", all, true);
        long seed = Long.parseUnsignedLong(field(line, "\"seed\": \"0x(\\w+)\""), 16);
        check(name + ": built here", BloomFilter.Sealed.build(keys, value, Integer.parseInt(field(line, "\"bits\": (\\d+)")), seed).toText(), text);
        byte[] damaged = filter.toBytes();
        for (int at : new int[] {5, 7, 8, 28, 36, 38, 42, 44, 45, 46, 60, damaged.length - 1}) {
            byte[] bytes = damaged.clone();
            bytes[at] = (byte) (at == 5 ? 99 : bytes[at] ^ (at == 44 ? 31 : at == 45 ? 64 : at == 60 ? 1 : 128));
            refused(name + ", byte " + at, () -> BloomFilter.Sealed.fromBytes(bytes));
        }
    }
}
