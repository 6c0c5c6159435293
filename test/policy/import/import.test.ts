import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import type { ImportResult } from '../../../src/policy/import/contract.ts'
import { importMcp } from '../../../src/policy/import/mcp.ts'
import { importOpenApi } from '../../../src/policy/import/openapi.ts'
import type { ToolContract } from '../../../src/policy/snapshot.ts'
import { bundle, diagnose, snapshotOf } from '../support.ts'

const options = { prefix: '' }
const mcp = (document: unknown, prefix = ''): ImportResult => {
  const result = importMcp(document as JsonValue, { prefix })
  if (!result) throw new Error('no list of tools')
  return result
}
const openApi = (paths: unknown, more: object = {}, version = '3.1.0'): ImportResult => {
  const document = { openapi: version, info: { title: 't', version: '1' }, paths, ...more }
  const result = importOpenApi(document as JsonValue, options)
  if (!result) throw new Error('no OpenAPI document')
  return result
}
/** The contracts as the gateway reads them: the result of an import always checks. */
async function contracts({ files }: ImportResult): Promise<readonly ToolContract[]> {
  const snapshot = await snapshotOf(bundle(Object.fromEntries(files.map(({ path, text }) => [path, text]))))
  return [...snapshot.tools.values()].filter(({ name }) => name !== 'pay')
}
const tool = (name: string, more: object = {}) => ({
  name,
  description: 'Does it.',
  inputSchema: { type: 'object' },
  ...more,
})

describe('importing from MCP', () => {
  it('makes one contract for each tool, with what the annotations say', async () => {
    const result = mcp({
      tools: [
        tool('read', { annotations: { readOnlyHint: true } }),
        tool('drop', { annotations: { destructiveHint: true } }),
        tool('edit', { annotations: { readOnlyHint: false, destructiveHint: false } }),
        tool('any'),
      ],
    })
    expect(result.notes).toEqual([])
    expect(
      (await contracts(result)).map(({ name, risk, reversibility }) => [name, risk, reversibility]),
    ).toEqual([
      ['any', 'high', undefined],
      ['drop', 'high', 'irreversible'],
      ['edit', 'medium', 'reversible'],
      ['read', 'low', 'read_only'],
    ])
    expect(result.files.find(({ path }) => path === 'tools/read.yaml')?.text).toContain(
      'suggestions (readOnlyHint)',
    )
  })

  it('takes the bare result, the JSON-RPC answer and the list itself, and nothing else', () => {
    const tools = [tool('a')]
    for (const document of [{ tools }, { jsonrpc: '2.0', id: 1, result: { tools } }, tools])
      expect(mcp(document).files.map(({ path }) => path)).toEqual(['tools/a.yaml'])
    for (const document of [{}, 'x', null, { result: {} }])
      expect(importMcp(document as JsonValue, options)).toBeUndefined()
  })

  it('makes names fit, says so, and never lets two tools share one or a file', async () => {
    const result = mcp([
      tool('my tool!'),
      tool('my tool?'),
      tool('-x-'),
      tool('a/b'),
      tool('a:b'),
      tool('A_B'),
      tool('é'),
    ])
    expect((await contracts(result)).map(({ name }) => name)).toEqual([
      'A_B_3',
      'a/b',
      'a:b_2',
      'my_tool',
      'my_tool_2',
      'tool',
      'x',
    ])
    expect(result.notes.map(({ message }) => message)).toContain('`my tool?` is called `my_tool_2`')
    expect(new Set(result.files.map(({ path }) => path)).size).toBe(7)
    expect((await contracts(mcp([tool('issues')], 'github.'))).map(({ name }) => name)).toEqual([
      'github.issues',
    ])
  })

  it('keeps the schema, follows its references, and names what it drops with its place', async () => {
    const inputSchema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'string', format: 'date-time', maxLength: 40 },
        odd: { type: 'string', format: 'color', pattern: '(?=x)', 'x-order': 1 },
        tree: { $ref: '#/definitions/node' },
        big: { type: 'integer', maximum: 2 ** 63 },
        far: { $ref: 'https://example.com/schema.json' },
      },
      definitions: { node: { type: 'object', properties: { next: { $ref: '#/definitions/node' } } } },
    }
    const result = mcp({ tools: [tool('a', { inputSchema })] })
    const [contract] = await contracts(result)
    expect(contract?.inputSchema).toEqual({
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'string', format: 'date-time', maxLength: 40 },
        odd: { type: 'string' },
        tree: { $ref: '#/$defs/node' },
        big: { type: 'integer' },
        far: {},
      },
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    })
    const at = (path: string): string => `/tools/0/inputSchema/properties/${path}`
    expect(result.notes.map(({ pointer }) => pointer)).toEqual([
      at('odd/format'),
      at('odd/pattern'),
      at('odd/x-order'),
      at('big/maximum'),
      at('far/$ref'),
    ])
  })

  it('shows what a description hides', async () => {
    const [contract] = await contracts(mcp([tool('a', { description: 'Safe\u200b\u202e tool' })]))
    expect(contract?.description).toBe('Safe<U+200B><U+202E> tool')
  })

  it('says so when a tool has no name, when the list goes on, and when a contract would not check', () => {
    const deep = Array.from({ length: 40 }).reduce<object>((inner) => ({ properties: { a: inner } }), {})
    const result = mcp({
      tools: [{ description: 'x' }, tool('deep', { inputSchema: deep })],
      nextCursor: 'c',
    })
    expect(result.files).toEqual([])
    expect(result.notes.map(({ pointer, message }) => `${pointer} ${message.split(':')[0]}`)).toEqual([
      '/tools/0 left out',
      '/nextCursor this is only the first page of the list',
      '/tools/1 left out',
    ])
  })
})

describe('importing from OpenAPI', () => {
  const schema = { type: 'string' }

  it('makes one tool for each operation, with parameters by name and the body as `body`', async () => {
    const result = openApi(
      {
        '/pets/{id}': {
          parameters: [{ name: 'id', in: 'path', required: true, schema }],
          get: {
            operationId: 'getPet',
            summary: 'Read a pet.',
            parameters: [{ $ref: '#/components/parameters/page' }],
          },
          delete: { summary: 'Remove a pet.' },
        },
        '/pets': {
          post: {
            operationId: 'addPet',
            requestBody: {
              required: true,
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
            },
          },
        },
      },
      {
        components: {
          parameters: {
            page: { name: 'page', in: 'query', description: 'Which page.', schema: { type: 'integer' } },
          },
          schemas: { Pet: { type: 'object', properties: { parent: { $ref: '#/components/schemas/Pet' } } } },
        },
      },
    )
    const found = await contracts(result)
    expect(found.map(({ name, risk, reversibility }) => [name, risk, reversibility])).toEqual([
      ['addPet', 'medium', 'external'],
      ['delete/pets/_id', 'high', 'irreversible'],
      ['getPet', 'low', 'read_only'],
    ])
    expect(found[2]?.inputSchema).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['id'],
      properties: { id: schema, page: { type: 'integer', description: 'Which page.' } },
    })
    expect(found[0]?.inputSchema).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['body'],
      properties: { body: { $ref: '#/$defs/Pet' } },
      $defs: { Pet: { type: 'object', properties: { parent: { $ref: '#/$defs/Pet' } } } },
    })
  })

  it('reads what OpenAPI 3.0 says in its own way', async () => {
    const parameter = (name: string, one: object) => ({ name, in: 'query', schema: one })
    const parameters = [
      parameter('a', { type: 'string', nullable: true, enum: ['x'] }),
      parameter('b', {
        type: 'number',
        minimum: 1,
        exclusiveMinimum: true,
        maximum: 5,
        exclusiveMaximum: false,
      }),
    ]
    const [contract] = await contracts(openApi({ '/x': { get: { parameters } } }, {}, '3.0.3'))
    expect(contract?.inputSchema['properties']).toEqual({
      a: { type: ['string', 'null'], enum: ['x', null] },
      b: { type: 'number', exclusiveMinimum: 1, maximum: 5 },
    })
  })

  it('keeps parameters apart that have one name, and names what it drops with its place', async () => {
    const parameters = [
      { name: 'id', in: 'path', schema },
      { name: 'id', in: 'query', schema: { type: 'string', format: 'int-id' } },
      { name: 'body', in: 'query', schema: { type: 'string', xml: {} } },
    ]
    const requestBody = {
      content: { 'multipart/form-data': { schema: { type: 'object', discriminator: {} } } },
    }
    const result = openApi({ '/x': { post: { parameters, requestBody } } })
    const [contract] = await contracts(result)
    expect(Object.keys(contract?.inputSchema['properties'] as object)).toEqual([
      'id',
      'query_id',
      'query_body',
      'body',
    ])
    expect(result.notes.map(({ pointer }) => pointer)).toEqual([
      '/paths/~1x/post/requestBody',
      '/paths/~1x/post/parameters/1/schema/format',
      '/paths/~1x/post/parameters/2/schema/xml',
      '/paths/~1x/post/requestBody/content/multipart~1form-data/schema/discriminator',
    ])
  })

  it('is not for other documents', () => {
    for (const document of [{ swagger: '2.0' }, { openapi: '4.0.0' }, [], null])
      expect(importOpenApi(document as JsonValue, options)).toBeUndefined()
  })
})

describe('whatever is imported', () => {
  it('checks: no document makes a file that the gateway would refuse', async () => {
    const word = fc.constantFrom(
      'type',
      'properties',
      'items',
      '$ref',
      'enum',
      'pattern',
      'format',
      'required',
      'x',
      'allOf',
      'const',
      'minimum',
      '__proto__',
      'nullable',
    )
    const leaf = fc.oneof(
      fc.string(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom('object', 'string', '#/properties/x', 'date'),
    )
    const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.dictionary(word, tie('schema'), { maxKeys: 4 }),
        fc.array(tie('schema'), { maxLength: 3 }),
      ),
    }))
    let files = 0
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), schema, async (name, description, inputSchema) => {
        const result = mcp(JSON.parse(JSON.stringify({ tools: [{ name, description, inputSchema }] })))
        files += result.files.length
        const found = await diagnose(
          bundle(Object.fromEntries(result.files.map(({ path, text }) => [path, text]))),
        )
        expect(found.filter(({ severity }) => severity === 'error')).toEqual([])
      }),
      { numRuns: 1_000 },
    )
    expect(files).toBeGreaterThan(500)
  }, 60_000)
})
