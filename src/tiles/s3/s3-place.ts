import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { isPacked, type Place, PlaceUnavailable, type StoredFile } from '../place.ts'

/*
 * Only `import()` loads this file, when the tiles are in S3. Its package is an optional peer. The package
 * finds credentials itself: in variables, in files, or by the role of the machine.
 */
const CONNECT_MS = 3_000
/** The longest time without a byte from the server, ms. */
const SILENCE_MS = 15_000
/** The longest time of a call with all its attempts and its answer, ms. A server may send a byte now and then. */
const CALL_MS = 60_000
const ATTEMPTS = 3

export interface S3Options {
  readonly bucket: string
  /** A server other than Amazon's. */
  readonly endpoint?: string
  readonly region?: string
  /** True for a server that expects the bucket in the path, not in the name of the host. */
  readonly pathStyle: boolean
  /** Other limits than those of a real server, ms. */
  readonly limits?: Limits
}

interface Limits {
  readonly silenceMs: number
  readonly callMs: number
}

/** A client for all places of a bucket. */
export interface S3 {
  /** The place below a prefix of the bucket, such as `logs/acme`. */
  place(prefix: string): Place
  close(): void
}

/** The region that a request names where neither the setting nor the environment names one. */
const NO_REGION = 'us-east-1'

export function openS3({ bucket, endpoint, region, pathStyle, limits }: S3Options): S3 {
  const { silenceMs, callMs } = limits ?? { silenceMs: SILENCE_MS, callMs: CALL_MS }
  const client = new S3Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region !== undefined ? { region } : endpoint !== undefined ? { region: NO_REGION } : {}),
    forcePathStyle: pathStyle,
    maxAttempts: ATTEMPTS,
    // hashes of the log protect the content, and other servers do not know these headers
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: silenceMs,
      throwOnRequestTimeout: true,
      // the limit of a request ends with the headers of its answer, and this one with the last byte
      socketTimeout: silenceMs,
    },
  })
  return {
    place: (prefix) => new S3Place(client, { bucket, prefix, callMs }),
    close: () => client.destroy(),
  }
}

class S3Place implements Place {
  readonly name: string
  readonly #client: S3Client
  readonly #bucket: string
  readonly #prefix: string
  readonly #callMs: number

  constructor(
    client: S3Client,
    { bucket, prefix, callMs }: { readonly bucket: string; readonly prefix: string; readonly callMs: number },
  ) {
    this.#client = client
    this.#bucket = bucket
    this.#prefix = prefix === '' ? '' : `${prefix}/`
    this.#callMs = callMs
    this.name = `\`s3://${bucket}/${prefix}\``
  }

  async read(path: string): Promise<StoredFile | undefined> {
    return this.#do(async (abortSignal) => {
      const get = new GetObjectCommand(this.#at(path))
      const { Body, ETag = '' } = await this.#client.send(get, { abortSignal })
      return { bytes: Buffer.from((await Body?.transformToByteArray()) ?? []), version: ETag }
    }, isGone).then((found) => (found === REFUSED ? undefined : found))
  }

  create(path: string, stored: Uint8Array): Promise<boolean> {
    return this.#put(path, stored, NEW)
  }

  replace(path: string, stored: Uint8Array, version: string | undefined): Promise<boolean> {
    return this.#put(path, stored, version === undefined ? NEW : { IfMatch: version })
  }

  async list(folder: string): Promise<string[]> {
    const paths: string[] = []
    let token: string | undefined
    do {
      const query = {
        Bucket: this.#bucket,
        Prefix: `${this.#prefix}${folder}/`,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }
      const page = await this.#do(
        (abortSignal) => this.#client.send(new ListObjectsV2Command(query), { abortSignal }),
        never,
      )
      if (page === REFUSED) break
      paths.push(...(page.Contents ?? []).map(({ Key = '' }) => Key.slice(this.#prefix.length)))
      token = page.NextContinuationToken
    } while (token !== undefined)
    return paths.sort()
  }

  async remove(path: string): Promise<void> {
    const gone = new DeleteObjectCommand(this.#at(path))
    await this.#do((abortSignal) => this.#client.send(gone, { abortSignal }), isGone)
  }

  #at(path: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${path}` }
  }

  async #put(
    path: string,
    stored: Uint8Array,
    condition: { readonly IfNoneMatch: string } | { readonly IfMatch: string },
  ): Promise<boolean> {
    const put = new PutObjectCommand({
      ...this.#at(path),
      ...condition,
      Body: stored,
      ContentType: path.startsWith('tile/') ? 'application/octet-stream' : 'text/plain; charset=utf-8',
      ...(isPacked(path) ? { ContentEncoding: 'gzip' } : {}),
    })
    const answer = await this.#do(
      (abortSignal) => this.#client.send(put, { abortSignal }),
      (error) => isOther(error) || (condition !== NEW && isGone(error)),
    )
    return answer !== REFUSED
  }

  /**
   * Returns `REFUSED` for an expected answer.
   *
   * @param work passes the signal to its request; an abort also ends the body of the answer
   * @throws PlaceUnavailable for any other failure
   */
  async #do<T>(
    work: (abortSignal: AbortSignal) => Promise<T>,
    isExpected: (error: unknown) => boolean,
  ): Promise<T | typeof REFUSED> {
    try {
      return await work(AbortSignal.timeout(this.#callMs))
    } catch (error) {
      if (isExpected(error)) return REFUSED
      throw unavailable(this.name, error)
    }
  }
}

const REFUSED = Symbol('refused')
/** The condition of a file that does not exist yet. */
const NEW = { IfNoneMatch: '*' }

/** True for the answer of S3 about an object. A 404 of a proxy, or of another path, says nothing about the log. */
const isGone = (error: unknown): boolean => statusOf(error) === 404 && (error as Error).name === 'NoSuchKey'

/** True when the object exists, or has another version. */
const isOther = (error: unknown): boolean => statusOf(error) === 412

const never = (): boolean => false

function statusOf(error: unknown): number {
  const { $metadata } = error as { readonly $metadata?: { readonly httpStatusCode?: number } }
  return $metadata?.httpStatusCode ?? 0
}

function unavailable(name: string, cause: unknown): PlaceUnavailable {
  const { name: code, message } = cause as Error
  return new PlaceUnavailable(`${name} cannot be used: ${code}: ${message || 'no answer'}`, { cause })
}
