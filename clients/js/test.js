// The golden vectors of test/python/golden.json, byte for byte. Ends with "N passed, N failed".
//
//     node clients/js/test.js [FILE]
//
// FILE has the text of bloom_agg(n, bloom_empty(1, 0.00390625, 'binary_fuse')) of the numbers below 300000.
import { readFileSync } from 'node:fs';
import { SealedFilter, BloomFilter, hashOf, keys, xxh3 } from './bloomx.js';

const golden = JSON.parse(readFileSync(new URL('../../test/python/golden.json', import.meta.url), 'utf8'));
const seeds = golden.seeds.map(BigInt);
let passed = 0, failed = 0;

function check(name, got, expected) {
  if (got === expected) {
    passed++;
  } else {
    failed++;
    console.log(`not ok - ${name}\n#  expected ${expected}\n#       got ${got}`);
  }
}

function fails(name, action, message) {
  try {
    action();
    check(name, 'no error', message);
  } catch (error) {
    check(name, message.test(error.message) ? 'refused' : error.message, 'refused');
  }
}

const hex = (n) => '0x' + n.toString(16).padStart(16, '0');
const bytesOf = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

for (const { length, hash } of golden.xxh3)
  seeds.forEach((seed, i) => check(`xxh3 of ${length} bytes, seed ${i}`, hex(xxh3(Uint8Array.from({ length }, (_, at) => at % 251), seed)), hash[i]));

// The keys that have a function here, by what SQL writes.
const written = [[/^(-?\d+)::int[248]$/, (found) => keys.integer(BigInt(found[1]))], [/^'([^'\\]*)'::(?:text|varchar)$/, (found) => keys.text(found[1])],
  [/^'([^'\\]*)'::(?:bpchar|char\(\d+\))$/, (found) => keys.bpchar(found[1])], [/^'([^']*)'::uuid$/, (found) => keys.uuid(found[1])], [/^(true|false)$/, (found) => keys.boolean(found[1] === 'true')],
  [/^(?:'(-?[\d.e+-]+|NaN|-?Infinity)'|(-?[\d.]+))::float8$/, (found) => keys.float(Number(found[1] ?? found[2]))], [/^'\\x([0-9a-f]*)'::bytea$/, (found) => keys.bytea(bytesOf(found[1]))]];
let known = 0;
for (const { sql, hash } of golden.keys)
  for (const [pattern, make] of written) {
    const found = pattern.exec(sql);
    if (found) {
      known++;
      seeds.forEach((seed, i) => check(`${sql}, seed ${i}`, hex(hashOf(make(found), seed)), hash[i]));
    }
  }
check('keys of many kinds were compared', known >= 25, true);

let read = 0;
for (const { name, layout, text, geometry, seed, key_type: type, keys: members, values, bits, fpr } of golden.filters) {
  if (layout === 'binary_fuse') {
    const sealed = SealedFilter.fromText(text);
    check(`${name}: key type and keys`, `${sealed.keyType} ${sealed.size}`, `${type} ${members.length}`);
    members.forEach(({ canonical }, i) => check(`${name}: ${canonical}`, sealed.get({ code: sealed.keyCode, bytes: bytesOf(canonical) }), values ? values[i] : 0));
    check(`${name}: written as it was read`, sealed.toText(), text);
    const copies = members.map(({ canonical }) => ({ code: sealed.keyCode, bytes: bytesOf(canonical) }));
    check(`${name}: built here`, SealedFilter.build(copies, { fingerprintBits: bits, values, seed: BigInt(seed) }).toText(), text);
    for (const [at, change] of [[7, 1], [8, 128], [28, 128], [36, 128], [38, 128], [40, 1], [42, 1], [43, 1], [44, 31], [45, 64], [46, 1], [60, 1], [sealed.bytes.length - 1, 1]]) {
      const damaged = sealed.toBytes();
      damaged[at] ^= change;
      fails(`${name}, byte ${at}`, () => SealedFilter.fromBytes(damaged), /damaged/);
    }
    let others = 0;
    for (let n = 0n; n < 2000n; n++)
      others += sealed.getHash(hashOf(keys.integer(n), 12345n)) !== null;
    check(`${name}: others at the rate`, Math.abs(others - 2000 * fpr) <= 5 * Math.sqrt(2000 * fpr), true);
  }
  if (layout !== 'partitioned_blocked') {
    fails(`${name}: refused`, () => BloomFilter.fromText(text), /only filters of layout/);
    continue;
  }
  read++;
  const filter = BloomFilter.fromText(text);
  check(`${name}: key type`, filter.keyType, type);
  check(`${name}: written as it was read`, filter.toText(), text);
  const copy = BloomFilter.empty({ ...geometry, seed: BigInt(seed), capacity: filter.capacity });
  Object.assign(copy, { keyCode: filter.keyCode, keyName: filter.keyName });
  for (const { canonical } of members) {
    const key = { code: filter.keyCode, bytes: bytesOf(canonical) };
    check(`${name}: ${canonical}`, filter.contains(key), true);
    copy.add(key);
  }
  check(`${name}: built here`, copy.toText(), text);
  check(`${name}: merged with itself`, copy.merge(filter).toText(), text);
}
check('filters were read', read >= 8, true);

// Two blocks; with the text that SQL makes of them, the same.
if (process.argv[2]) {
  const two = SealedFilter.build(Array.from({ length: 300000 }, (_, n) => keys.integer(n)));
  check('a sealed filter of two blocks', two.toText(), readFileSync(process.argv[2], 'utf8').trim());
}
fails('two values of one key', () => SealedFilter.build([keys.integer(1), keys.integer(1)], { values: [3, 7] }), /two values, 3 and 7/);
check('a sealed filter of nothing', SealedFilter.build([]).contains(keys.integer(1)), false);

const filter = BloomFilter.empty({ blocks: 16, parts: 8, capacity: 1000 });
for (let n = 0; n < 500; n++)
  filter.add(keys.integer(n));
let found = 0;
for (let n = 0; n < 10000; n++)
  found += filter.contains(keys.integer(n + 1000));
check('absent keys are hardly ever found', found < 60, true);
fails('a key of another type', () => filter.contains(keys.text('5')), /type integer, not text/);
fails('no integer of SQL', () => keys.integer(2n ** 63n), /no bigint/);
fails('no filter', () => BloomFilter.fromBytes([1, 2, 3]), /no filter/);
fails('a byte too few', () => BloomFilter.fromBytes(filter.toBytes().slice(1, -1)), /no filter/);
fails('a byte cut off', () => BloomFilter.fromBytes(filter.toBytes().slice(0, -1)), /damaged/);

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
