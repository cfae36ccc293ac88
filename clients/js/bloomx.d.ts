/** A key with its type: integer 5 and text '5' are two keys. */
export interface Key {
  code: number;
  bytes: Uint8Array;
}

export const keys: {
  integer(value: number | bigint | string): Key;
  float(value: number): Key;
  text(value: string): Key;
  bytea(value: ArrayLike<number>): Key;
  uuid(value: string): Key;
  boolean(value: boolean): Key;
  enum(value: string): Key;
  bpchar(value: string): Key;
  /** A hash of bloom_hash(). */
  hash(value: bigint): Key;
};

/** A filter of layout partitioned_blocked, the default. */
export class BloomFilter {
  /** Reads the bytes of filter::bytea. */
  static fromBytes(data: ArrayLike<number>): BloomFilter;
  /** Reads the text form: base64. */
  static fromText(text: string): BloomFilter;
  /** An empty filter; take blocks, parts and capacity of bloom_plan(), or read bloom_empty(). */
  static empty(shape: { blocks: number; parts: number; seed?: bigint; capacity?: number | bigint }): BloomFilter;

  readonly keyType: string;
  readonly blocks: number;
  readonly parts: number;
  readonly seed: bigint;
  readonly capacity: bigint;

  /** False: definitely not. True: possibly. */
  contains(key: Key): boolean;
  containsHash(hash: bigint): boolean;
  add(key: Key): this;
  addHash(hash: bigint): this;
  /** Adds the keys of a filter of the same seed, key type and size. */
  merge(other: BloomFilter): this;
  toBytes(): Uint8Array;
  toText(): string;
}

/** A sealed filter or a map, of layout binary_fuse. */
export class SealedFilter {
  static fromBytes(data: ArrayLike<number>): SealedFilter;
  static fromText(text: string): SealedFilter;
  /** The filter of keys of one type; with values (integers from 0 to 16777215) the map. The rate is 2 to the power of -fingerprintBits (8). */
  static build(keys: Key[], options?: { fingerprintBits?: number; values?: number[]; seed?: bigint }): SealedFilter;

  readonly keyType: string;
  /** The number of keys. */
  readonly size: number;
  readonly seed: bigint;

  /** False: definitely not. True: possibly. */
  contains(key: Key): boolean;
  /** The value of a key of a map (0 if the filter is none); null: definitely not there. */
  get(key: Key): number | null;
  getHash(hash: bigint): number | null;
  toBytes(): Uint8Array;
  toText(): string;
}

/** XXH3_64bits_withSeed. */
export function xxh3(bytes: Uint8Array, seed?: bigint): bigint;

/** What bloom_hash(key, seed) is in SQL, as an unsigned BigInt. */
export function hashOf(key: Key, seed?: bigint): bigint;
