// Filters of bloomx, the PostgreSQL extension, in JavaScript: read, tested, built, merged and written.
//
// Written from docs/internals/FORMAT.md. Runs in Node.js and in browsers, without dependencies. The layout is the
// default one, partitioned_blocked, and binary_fuse (SealedFilter); filters of other layouts are refused. A key is made by one of the functions of
// `keys`, because 5, '5' and the bytes of '5' are three keys.

const MASK64 = 0xffffffffffffffffn;
const MASK32 = 0xffffffffn;

// ---- XXH3_64bits_withSeed ----

const PRIME32_1 = 0x9E3779B1n, PRIME32_2 = 0x85EBCA77n, PRIME32_3 = 0xC2B2AE3Dn;
const PRIME64_1 = 0x9E3779B185EBCA87n, PRIME64_2 = 0xC2B2AE3D27D4EB4Fn, PRIME64_3 = 0x165667B19E3779F9n;
const PRIME64_4 = 0x85EBCA77C2B2AE63n, PRIME64_5 = 0x27D4EB2F165667C5n;
const PRIME_MX1 = 0x165667919E3779F9n, PRIME_MX2 = 0x9FB21C651E98DF25n;
const GOLDEN_RATIO = 0x9E3779B97F4A7C15n;

const SECRET = view(Uint8Array.from((
  'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f' +
  'cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c' +
  '3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8' +
  'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364' +
  'eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e' +
  '2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e').match(/../g), (pair) => parseInt(pair, 16)));

function view(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function read32(data, at) {
  return BigInt(data.getUint32(at, true));
}

function read64(data, at) {
  return data.getBigUint64(at, true);
}

function rotateLeft(x, n) {
  return ((x << n) | (x >> (64n - n))) & MASK64;
}

function swap(x, bytes) {
  let swapped = 0n;
  for (let i = 0; i < bytes; i++, x >>= 8n)
    swapped = swapped << 8n | x & 255n;
  return swapped;
}

// The exclusive or of the two halves of the product.
function fold128(a, b) {
  const product = a * b;
  return (product & MASK64) ^ (product >> 64n);
}

function avalanche(h) {
  h ^= h >> 37n;
  h = h * PRIME_MX1 & MASK64;
  return h ^ (h >> 32n);
}

function avalancheXxh64(h) {
  h ^= h >> 33n;
  h = h * PRIME64_2 & MASK64;
  h ^= h >> 29n;
  h = h * PRIME64_3 & MASK64;
  return h ^ (h >> 32n);
}

function mix16(data, at, secretAt, seed) {
  return fold128(read64(data, at) ^ (read64(SECRET, secretAt) + seed & MASK64),
    read64(data, at + 8) ^ (read64(SECRET, secretAt + 8) - seed & MASK64));
}

function xxh3UpTo16(data, n, seed) {
  if (n === 0)
    return avalancheXxh64(seed ^ read64(SECRET, 56) ^ read64(SECRET, 64));
  if (n <= 3) {
    const combined = BigInt(data.getUint8(0) << 16 | data.getUint8(n - 1) | n << 8) | BigInt(data.getUint8(n >> 1)) << 24n;
    return avalancheXxh64(combined ^ ((read32(SECRET, 0) ^ read32(SECRET, 4)) + seed & MASK64));
  }
  if (n <= 8) {
    seed ^= swap(seed & MASK32, 4) << 32n;
    let h = (read32(data, n - 4) | read32(data, 0) << 32n) ^ ((read64(SECRET, 8) ^ read64(SECRET, 16)) - seed & MASK64);
    h ^= rotateLeft(h, 49n) ^ rotateLeft(h, 24n);
    h = h * PRIME_MX2 & MASK64;
    h ^= (h >> 35n) + BigInt(n);
    h = h * PRIME_MX2 & MASK64;
    return h ^ (h >> 28n);
  }
  const low = read64(data, 0) ^ ((read64(SECRET, 24) ^ read64(SECRET, 32)) + seed & MASK64);
  const high = read64(data, n - 8) ^ ((read64(SECRET, 40) ^ read64(SECRET, 48)) - seed & MASK64);
  return avalanche(BigInt(n) + swap(low, 8) + high + fold128(low, high) & MASK64);
}

function xxh3UpTo128(data, n, seed) {
  let total = BigInt(n) * PRIME64_1;
  for (let i = 0; i <= (n - 1) >> 5; i++) {     // pairs of chunks, from both ends inwards
    total += mix16(data, 16 * i, 32 * i, seed);
    total += mix16(data, n - 16 * (i + 1), 32 * i + 16, seed);
  }
  return avalanche(total & MASK64);
}

function xxh3UpTo240(data, n, seed) {
  let total = BigInt(n) * PRIME64_1;
  for (let i = 0; i < 8; i++)
    total += mix16(data, 16 * i, 16 * i, seed);
  total = avalanche(total & MASK64);
  for (let i = 8; i < n >> 4; i++)
    total += mix16(data, 16 * i, 16 * (i - 8) + 3, seed);
  total += mix16(data, n - 16, 136 - 17, seed);
  return avalanche(total & MASK64);
}

function xxh3Long(data, n, seed) {
  const secret = view(new Uint8Array(SECRET.byteLength));
  for (let at = 0; at < secret.byteLength; at += 16) {
    secret.setBigUint64(at, read64(SECRET, at) + seed & MASK64, true);
    secret.setBigUint64(at + 8, read64(SECRET, at + 8) - seed & MASK64, true);
  }
  const lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
  const end = secret.byteLength - 64;

  const accumulate = (at, secretAt) => {
    for (let i = 0; i < 8; i++) {
      const value = read64(data, at + 8 * i);
      const key = value ^ read64(secret, secretAt + 8 * i);
      lanes[i ^ 1] = lanes[i ^ 1] + value & MASK64;
      lanes[i] = lanes[i] + (key & MASK32) * (key >> 32n) & MASK64;
    }
  };

  const stripes = Math.floor((n - 1) / 64);     // all but the last, which may overlap
  for (let stripe = 0; stripe < stripes; stripe++) {
    accumulate(64 * stripe, 8 * (stripe % 16));
    if (stripe % 16 === 15)
      for (let i = 0; i < 8; i++)
        lanes[i] = (lanes[i] ^ lanes[i] >> 47n ^ read64(secret, end + 8 * i)) * PRIME32_1 & MASK64;
  }
  accumulate(n - 64, end - 7);

  let total = BigInt(n) * PRIME64_1;
  for (let i = 0; i < 4; i++)
    total += fold128(lanes[2 * i] ^ read64(secret, 11 + 16 * i), lanes[2 * i + 1] ^ read64(secret, 19 + 16 * i));
  return avalanche(total & MASK64);
}

/** XXH3_64bits_withSeed of a Uint8Array: an unsigned BigInt. */
export function xxh3(bytes, seed = 0n) {
  const n = bytes.length, data = view(bytes);
  return n <= 16 ? xxh3UpTo16(data, n, seed) : n <= 128 ? xxh3UpTo128(data, n, seed)
    : n <= 240 ? xxh3UpTo240(data, n, seed) : xxh3Long(data, n, seed);
}

// ---- keys ----

const KEY_TYPES = {
  0: 'none', 1: 'integer', 2: 'float', 3: 'numeric', 4: 'text', 5: 'bytea', 6: 'uuid', 7: 'boolean', 8: 'date', 9: 'time', 10: 'timetz',
  11: 'timestamp', 12: 'timestamptz', 13: 'interval', 14: 'inet', 15: 'macaddr', 16: 'macaddr8', 17: 'oid', 18: 'money', 19: 'enum', 20: 'bpchar', 254: 'hash', 255: 'named',
};
const NONE = 0, HASH = 254, NAMED = 255;
const utf8 = new TextEncoder();

function words(...values) {
  const bytes = new Uint8Array(8 * values.length);
  values.forEach((value, i) => view(bytes).setBigInt64(8 * i, value, true));
  return bytes;
}

/** Keys by type: each is {code, bytes}, with the canonical bytes of FORMAT.md. */
export const keys = {
  integer(value) {
    const number = BigInt(value);
    if (number !== BigInt.asIntN(64, number))
      throw new RangeError(`${value} is no bigint of SQL`);
    return { code: 1, bytes: words(number) };
  },
  float(value) {
    const bytes = new Uint8Array(8);
    view(bytes).setFloat64(0, value === 0 ? 0 : value, true);
    return Number.isNaN(value) ? { code: 2, bytes: words(0x7ff8000000000000n) } : { code: 2, bytes };
  },
  text(value) {
    return { code: 4, bytes: utf8.encode(value) };
  },
  bytea(value) {
    return { code: 5, bytes: Uint8Array.from(value) };
  },
  uuid(value) {
    const digits = value.replace(/[-{}]/g, '');
    if (!/^[0-9a-f]{32}$/i.test(digits))
      throw new RangeError(`${value} is no uuid`);
    return { code: 6, bytes: Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16)) };
  },
  boolean(value) {
    return { code: 7, bytes: Uint8Array.of(value ? 1 : 0) };
  },
  enum(value) {
    return { code: 19, bytes: utf8.encode(value) };
  },
  bpchar(value) {
    return { code: 20, bytes: utf8.encode(value.replace(/ +$/, '')) };
  },
  /** A hash of bloom_hash(), as a BigInt. */
  hash(value) {
    return { code: HASH, bytes: words(BigInt.asIntN(64, value)) };
  },
};

// ---- filters ----

const HEADER_BYTES = 44;
const PARTITIONED_BLOCKED = 4;
const BINARY_FUSE = 12;
const BLOCK_KEYS = 2 ** 18;     // of a sealed filter, at most on average
const GROUP = 8;        // parts that share the choice of a block

/** A filter of layout partitioned_blocked. */
export class BloomFilter {
  /** Reads the bytes of filter::bytea. */
  static fromBytes(data) {
    const bytes = Uint8Array.from(data), header = view(bytes);
    if (bytes.length < HEADER_BYTES || bytes[0] !== 0x42 || bytes[1] !== 0x4c || bytes[2] !== 0x58)
      throw new Error('these bytes are no filter of bloomx');
    if (bytes[3] !== 1)
      throw new Error(`version ${bytes[3]} of the format is not known, only 1`);
    if (bytes[4] !== PARTITIONED_BLOCKED)
      throw new Error('only filters of layout partitioned_blocked, the default, can be read here');
    const filter = new BloomFilter();
    filter.keyCode = bytes[5];
    filter.blocks = header.getUint32(8, true);
    filter.seed = header.getBigUint64(12, true);
    filter.capacity = header.getBigUint64(20, true);
    filter.parts = header.getUint16(36, true);
    const named = bytes[6], bodyAt = HEADER_BYTES + Math.ceil(named / 8) * 8;
    const shape = [header.getBigUint64(28, true) === 64n, header.getUint16(38, true) === 1, header.getUint16(40, true) === 0, bytes[7] === 0,
      bytes[43] === 0, filter.keyCode in KEY_TYPES, (named !== 0) === (filter.keyCode === NAMED), named <= 63, filter.parts >= 1 && filter.parts <= 64,
      Number.isInteger(Math.log2(filter.blocks)), bytes.length === bodyAt + 8 * filter.blocks * filter.parts,
      bytes.subarray(HEADER_BYTES + named, bodyAt).every((byte) => byte === 0)];
    if (shape.includes(false))
      throw new Error('these bytes are a damaged filter, or the state of an unfinished aggregate');
    filter.expanded = bytes[42];
    filter.keyName = bytes.slice(HEADER_BYTES, HEADER_BYTES + named);
    filter.body = bytes.slice(bodyAt);
    return filter;
  }

  /** Reads the text form: base64. */
  static fromText(text) {
    return BloomFilter.fromBytes(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
  }

  /** An empty filter of 2^n blocks of so many parts; take those of bloom_plan(), or a copy of bloom_empty(). */
  static empty({ blocks, parts, seed = 0n, capacity = 0n }) {
    const filter = new BloomFilter();
    Object.assign(filter, { keyCode: NONE, keyName: new Uint8Array(0), blocks, parts, seed: BigInt.asUintN(64, BigInt(seed)), capacity: BigInt(capacity), expanded: 0 });
    filter.body = new Uint8Array(8 * blocks * parts);
    return BloomFilter.fromBytes(filter.toBytes());
  }

  /** The name of the key type, such as "integer" or "text". */
  get keyType() {
    return this.keyCode === NAMED ? new TextDecoder().decode(this.keyName) : KEY_TYPES[this.keyCode];
  }

  toBytes() {
    const named = this.keyName.length, bodyAt = HEADER_BYTES + Math.ceil(named / 8) * 8;
    const bytes = new Uint8Array(bodyAt + this.body.length), header = view(bytes);
    bytes.set([0x42, 0x4c, 0x58, 1, PARTITIONED_BLOCKED, this.keyCode, named, 0]);
    header.setUint32(8, this.blocks, true);
    header.setBigUint64(12, this.seed, true);
    header.setBigUint64(20, this.capacity, true);
    header.setBigUint64(28, 64n, true);
    header.setUint16(36, this.parts, true);
    header.setUint16(38, 1, true);
    bytes[42] = this.expanded;
    bytes.set(this.keyName, HEADER_BYTES);
    bytes.set(this.body, bodyAt);
    return bytes;
  }

  toText() {
    return base64(this.toBytes());
  }

  /** False: definitely not. True: possibly. */
  contains(key) {
    return this.keyCode === NONE || this.containsHash(this.#hash(key));
  }

  /** The same for a hash, an unsigned BigInt. */
  containsHash(hash) {
    for (const bit of this.#bits(hash))
      if ((this.body[Math.floor(bit / 8)] >> bit % 8 & 1) === 0)
        return false;
    return true;
  }

  add(key) {
    const hash = this.keyCode === NONE ? hashOf(key, this.seed) : this.#hash(key);
    this.keyCode = key.code;
    return this.addHash(hash);
  }

  addHash(hash) {
    if (this.keyCode === NONE)
      this.keyCode = HASH;
    for (const bit of this.#bits(hash))
      this.body[Math.floor(bit / 8)] |= 1 << bit % 8;
    return this;
  }

  /** Adds the keys of another filter of the same seed, key type and size. */
  merge(other) {
    if (this.seed !== other.seed || this.blocks !== other.blocks || this.parts !== other.parts)
      throw new Error('the filters have other seeds or sizes');
    if (other.keyCode === NONE)
      return this;
    if (this.keyCode === NONE)
      Object.assign(this, { keyCode: other.keyCode, keyName: other.keyName });
    if (this.keyType !== other.keyType)
      throw new TypeError(`the filters hold keys of types ${this.keyType} and ${other.keyType}`);
    this.body.forEach((byte, i) => { this.body[i] = byte | other.body[i]; });
    if (other.capacity > this.capacity)
      this.capacity = other.capacity;
    this.expanded = Math.max(this.expanded, other.expanded);
    return this;
  }

  #hash(key) {
    if (key.code !== this.keyCode)
      throw new TypeError(`the filter holds keys of type ${this.keyType}, not ${KEY_TYPES[key.code]}`);
    return hashOf(key, this.seed);
  }

  // The positions of a key's bits in the body.
  * #bits(hash) {
    const shift = BigInt(64 - Math.log2(this.blocks));
    for (let first = 0; first < this.parts; first += GROUP) {
      const word = first === 0 ? hash : xxh3(words(BigInt.asIntN(64, hash)), BigInt(first / GROUP));
      const block = Number(word >> shift), here = Math.min(GROUP, this.parts - first);
      const x = word * GOLDEN_RATIO & MASK64;
      for (let part = 0; part < here; part++)
        yield 64 * (first * this.blocks + block * here + part) + Number(x >> BigInt(58 - 6 * part) & 63n);
    }
  }
}

/** A sealed filter or a map, of layout binary_fuse: built once, of all its keys. */
export class SealedFilter {
  /** Reads the bytes of filter::bytea. */
  static fromBytes(data) {
    const bytes = Uint8Array.from(data), header = view(bytes);
    if (bytes.length < HEADER_BYTES || bytes[0] !== 0x42 || bytes[1] !== 0x4c || bytes[2] !== 0x58 || bytes[3] !== 1 || bytes[4] !== BINARY_FUSE)
      throw new Error('these bytes are no filter of layout binary_fuse');
    const filter = new SealedFilter();
    filter.keyCode = bytes[5];
    filter.blocks = header.getUint32(8, true);
    filter.seed = header.getBigUint64(12, true);
    filter.blockSlots = Number(header.getBigUint64(28, true));
    filter.parts = header.getUint16(36, true);
    filter.slots = header.getUint16(38, true);
    const named = bytes[6], bodyAt = HEADER_BYTES + Math.ceil(named / 8) * 8;
    const wordsOfSlots = Math.ceil(filter.blocks * filter.blockSlots * filter.parts / 64);
    if (bytes.length < bodyAt + 16 || bytes.length !== bodyAt + 8 * (2 + filter.blocks + wordsOfSlots + 1))
      throw new Error('these bytes are a damaged filter');
    filter.bytes = bytes;
    filter.body = view(bytes.subarray(bodyAt));
    filter.segment = filter.body.getUint8(0);
    filter.valueBits = filter.body.getUint8(1);
    filter.size = Number(read64(filter.body, 8));
    const shape = [filter.slots === 4, filter.segment <= 18, filter.valueBits <= 24, filter.parts >= Math.max(filter.valueBits, 1),
      filter.parts - filter.valueBits <= 32, read64(filter.body, 0) >> 16n === 0n, filter.blockSlots % 2 ** filter.segment === 0,
      filter.blockSlots < 2 ** 32, filter.blockSlots >= filter.slots * 2 ** filter.segment, filter.blocks >= 1 && filter.blocks <= 2 ** 20,
      filter.size <= filter.blocks * filter.blockSlots, filter.keyCode in KEY_TYPES, (named !== 0) === (filter.keyCode === NAMED), named <= 63,
      filter.size === 0 || filter.keyCode !== NONE, bytes[7] === 0, header.getUint16(40, true) === 0, bytes[42] === 0, bytes[43] === 0,
      bytes.subarray(HEADER_BYTES + named, bodyAt).every((byte) => byte === 0), read64(header, bytes.length - 8) === 0n];
    for (let block = 0; block < filter.blocks; block++)
      shape.push(filter.body.getUint8(8 * (2 + block)) % 2 === 1);
    const spare = filter.blocks * filter.blockSlots * filter.parts % 64;
    shape.push(spare === 0 || read64(header, bytes.length - 16) >> BigInt(spare) === 0n);
    if (shape.includes(false))
      throw new Error('these bytes are a damaged filter');
    filter.keyName = bytes.slice(HEADER_BYTES, HEADER_BYTES + named);
    return filter;
  }

  /**
   * The filter of keys of one type; with values (an array of integers from 0 to 16777215) the map. The false positive
   * rate is 2 to the power of -fingerprintBits, 0 to 32. A million keys take seconds.
   */
  static build(members, { fingerprintBits = 8, values, seed = 0n } = {}) {
    const unsigned = BigInt.asUintN(64, BigInt(seed)), code = members.length ? members[0].code : NONE, valueOf = new Map();
    members.forEach((key, i) => {
      const value = values ? values[i] : 0, hash = placed(hashOf(key, unsigned), code);
      if (key.code !== code || !(Number.isInteger(value) && value >= 0 && value < 2 ** 24))
        throw new RangeError('keys must be of one type, values from 0 to 16777215');
      if ((valueOf.get(hash) ?? value) !== value)
        throw new Error(`a key has two values, ${valueOf.get(hash)} and ${value}`);
      valueOf.set(hash, value);
    });
    let largest = 0;
    for (const value of valueOf.values())
      largest = Math.max(largest, value);
    const valueBits = values ? Math.max(1, 32 - Math.clz32(largest)) : 0, parts = fingerprintBits + valueBits;
    if (!(Number.isInteger(fingerprintBits) && fingerprintBits >= 0 && fingerprintBits <= 32 && parts > 0))
      throw new RangeError('a fingerprint has 0 to 32 bits, and a slot at least one');
    const byBlock = Array.from({ length: Math.max(1, Math.ceil(valueOf.size / BLOCK_KEYS)) }, () => []), blocks = byBlock.length;
    for (const hash of valueOf.keys())
      byBlock[Number(hash * BigInt(blocks) >> 64n)].push(hash);
    const [segment, blockSlots] = sizes(Math.max(...byBlock.map((block) => block.length)));
    const bytes = new Uint8Array(HEADER_BYTES + 8 * (2 + blocks + Math.ceil(blocks * blockSlots * parts / 64) + 1)), header = view(bytes);
    bytes.set([0x42, 0x4c, 0x58, 1, BINARY_FUSE, code]);
    header.setUint32(8, blocks, true);
    header.setBigUint64(12, unsigned, true);
    header.setBigUint64(20, BigInt(valueOf.size), true);
    header.setBigUint64(28, BigInt(blockSlots), true);
    header.setUint16(36, parts, true);
    header.setUint16(38, 4, true);
    bytes.set([segment, valueBits], HEADER_BYTES);
    header.setBigUint64(HEADER_BYTES + 8, BigInt(valueOf.size), true);
    for (let block = 0; block < blocks; block++)
      bytes[HEADER_BYTES + 8 * (2 + block)] = 1;
    const filter = SealedFilter.fromBytes(bytes);
    byBlock.forEach((hashes, block) => filter.#fill(block, hashes, valueOf));
    return filter;
  }

  // Fills the slots of a block with the first salt that does.
  #fill(block, hashes, valueOf) {
    for (let attempt = 0n; attempt < 64n; attempt++) {
      const salt = attempt === 0n && this.blocks === 1 ? 1n : xxh3(words(attempt), 0n) | 1n;
      const counts = new Uint32Array(this.blockSlots), sums = new BigUint64Array(this.blockSlots), values = new Uint32Array(this.blockSlots);
      for (const hash of hashes) {
        const u = hash * salt & MASK64;
        for (const slot of this.#slots(u)) {
          counts[slot]++;
          sums[slot] ^= u;
          values[slot] ^= valueOf.get(hash);
        }
      }
      if (counts.some((count) => count > 254))
        continue;
      const queue = [], order = [];
      counts.forEach((count, slot) => { if (count === 1) queue.push(slot); });
      for (const slot of queue) {               // which grows
        if (counts[slot] === 0)
          continue;
        order.push(slot);
        for (const other of this.#slots(sums[slot])) {
          if (other !== slot) {
            sums[other] ^= sums[slot];
            values[other] ^= values[slot];
          }
          if (--counts[other] === 1)
            queue.push(other);
        }
      }
      if (order.length < hashes.length)
        continue;
      this.body.setBigUint64(8 * (2 + block), salt, true);
      for (const slot of order.reverse()) {
        let wanted = this.#fingerprint(sums[slot]) << BigInt(this.valueBits) | BigInt(values[slot]);
        for (const other of this.#slots(sums[slot]))
          wanted ^= other === slot ? 0n : this.#read(block, other);
        const [at, shift] = this.#place(block, slot);
        this.body.setBigUint64(at, read64(this.body, at) | wanted << shift, true);
      }
      return;
    }
    throw new Error('no filter was found for these keys; use another seed');
  }

  #slots(u) {
    const segment = BigInt(this.segment), within = (1n << segment) - 1n, slots = [];
    const first = u * BigInt(this.blockSlots - (this.slots - 1) * 2 ** this.segment) >> 64n;
    for (let i = 0n; i < BigInt(this.slots); i++)
      slots.push(Number(i === 0n ? first : (first + (i << segment)) ^ (u >> (i - 1n) * segment & within)));
    return slots;
  }

  #fingerprint(u) {
    return (u * GOLDEN_RATIO & MASK64) >> 32n & (1n << BigInt(this.parts - this.valueBits)) - 1n;
  }

  // Where a slot begins: byte of the body, and bit in it.
  #place(block, slot) {
    const bit = (block * this.blockSlots + slot) * this.parts;
    return [8 * (2 + this.blocks) + Math.floor(bit / 8), BigInt(bit % 8)];
  }

  #read(block, slot) {
    const [at, shift] = this.#place(block, slot);
    return read64(this.body, at) >> shift & (1n << BigInt(this.parts)) - 1n;
  }

  toBytes() {
    return this.bytes.slice();
  }

  toText() {
    return base64(this.bytes);
  }

  /** Reads the text form: base64. */
  static fromText(text) {
    return SealedFilter.fromBytes(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
  }

  /** The name of the key type, such as "integer" or "text". */
  get keyType() {
    return this.keyCode === NAMED ? new TextDecoder().decode(this.keyName) : KEY_TYPES[this.keyCode];
  }

  /** False: definitely not. True: possibly. */
  contains(key) {
    return this.get(key) !== null;
  }

  /** The value of a key of a map (0 if the filter is none); null: the key is definitely not there. */
  get(key) {
    if (this.size > 0 && key.code !== this.keyCode)
      throw new TypeError(`the filter holds keys of type ${this.keyType}, not ${KEY_TYPES[key.code]}`);
    return this.getHash(hashOf(key, this.seed));
  }

  /** The same for a hash, an unsigned BigInt. */
  getHash(hash) {
    if (this.size === 0)
      return null;
    const h = placed(hash, this.keyCode), block = Number(h * BigInt(this.blocks) >> 64n), v = BigInt(this.valueBits);
    const u = h * read64(this.body, 8 * (2 + block)) & MASK64;
    const x = this.#slots(u).reduce((sum, slot) => sum ^ this.#read(block, slot), 0n);
    return x >> v === this.#fingerprint(u) ? Number(x & (1n << v) - 1n) : null;
  }
}

// Ready-made hashes are hashed once more: they need not be uniform.
function placed(hash, code) {
  return code === HASH ? xxh3(words(BigInt.asIntN(64, hash)), 1n) : hash;
}

// Segment and slots of a block, if the fullest has so many keys.
function sizes(fullest) {
  if (fullest < 2)
    return [0, 4];
  const k = 31 - Math.clz32(fullest), log2 = 65536 * k + Math.floor(65536 * fullest / 2 ** k) - 65536;
  const segment = Math.min(Math.max(Math.floor((Math.floor(1000 * log2 / 1541) - 32768) / 65536), 1), 18);
  const perKey = Math.max(70451, 50463 + Math.floor(383713 * 65536 / log2)), length = 2 ** segment;
  return [segment, Math.max(Math.ceil(Math.ceil(fullest * perKey / 65536) / length) * length, 4 * length)];
}

function base64(bytes) {
  let characters = '';
  for (const byte of bytes)
    characters += String.fromCharCode(byte);
  return btoa(characters);
}

/** What bloom_hash(key, seed) is in SQL, as an unsigned BigInt. */
export function hashOf(key, seed = 0n) {
  return key.code === HASH ? read64(view(key.bytes), 0) : xxh3(key.bytes, seed);
}
