import { describe, expect, it } from 'vitest'
import { isInNetwork, networkEdges, networkProblem } from '../../../src/policy/language/networks.ts'
import { bundle, call, diagnose, snapshotOf } from '../support.ts'

describe('a network', () => {
  it.each([
    ['10.0.0.0/8', '10.0.0.0', true],
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '9.255.255.255', false],
    ['10.1.2.3/32', '10.1.2.3', true],
    ['10.1.2.3/32', '10.1.2.4', false],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '::1', false],
    ['10.0.0.0/8', '::ffff:10.9.9.9', true],
    ['10.0.0.0/8', '::FFFF:0a09:0909', true],
    ['::/0', '::ffff:10.9.9.9', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:DB8:0:0:0:0:0:1', true],
    ['2001:db8::/32', '2001:db9::', false],
    ['::1/128', '::1', true],
    ['fe80::/10', 'febf::1', true],
  ])('%s with %s: %s', (network, address, inside) => {
    expect(networkProblem(network)).toBeUndefined()
    expect(isInNetwork(network)(address)).toBe(inside)
  })

  it.each([
    '',
    '10.0.0',
    '010.0.0.1',
    '10.0.0.1 ',
    '10.0.0.1:80',
    '167772161',
    '0x0a000001',
    '10.0.0.0/8',
    '[::1]',
    'fe80::1%eth0',
    'localhost',
    '1::2::3',
    'http://10.0.0.1/',
    '\uff11\uff10.0.0.1',
  ])('is unknown for %j, which is not an address', (text) => {
    expect(isInNetwork('10.0.0.0/8')(text)).toBeUndefined()
  })

  it.each([
    ['10.0.0.0', 'is not a network'],
    ['10.0.0.0/33', 'is not a network'],
    ['10.0.0.0/08', 'is not a network'],
    ['10.0.0/8', 'is not a network'],
    ['::ffff:10.0.0.0/104', 'is not a network'],
    ['2001:db8::/129', 'is not a network'],
    ['10.1.0.0/8', 'does not begin at its first address'],
    ['2001:db8::1/32', 'does not begin at its first address'],
  ])('%s %s', (text, problem) => {
    expect(networkProblem(text)).toBe(`\`${text}\` ${problem}`)
  })

  it('has as edges its first address and the first address after it', () => {
    expect(networkEdges('10.0.0.0/8')).toEqual(['10.0.0.0', '11.0.0.0'])
    expect(networkEdges('10.255.0.0/16')).toEqual(['10.255.0.0', '11.0.0.0'])
    expect(networkEdges('fd00::/8')).toEqual(['fd00::'])
  })
})

describe('in_network', () => {
  const withRule = (operand: string, verdict = 'allow') =>
    bundle({
      'rules/pay.yaml': `tool: pay\nrules: [{ id: a, ${verdict}: b, when: { payload.note: { in_network: ${operand} } } }]\n`,
    })

  it('allows an address inside, and no other text', async () => {
    const { judge } = await snapshotOf(withRule("['10.0.0.0/8', '192.168.0.0/16']"))
    const verdicts = ['10.9.9.9', '192.168.1.1', '11.0.0.0', 'printer', ''].map(
      async (note) => (await judge(call({ note }))).verdict,
    )
    expect(await Promise.all(verdicts)).toEqual(['allow', 'allow', 'reject', 'reject', 'reject'])
  })

  it('fires a reject rule for text that is not an address', async () => {
    const { judge } = await snapshotOf(withRule('169.254.0.0/16', 'reject'))
    expect((await judge(call({ note: '0xa9fea9fe' }))).message).toContain('payload.note: not an IP address')
  })

  it('is refused with a place when it is not a network', async () => {
    const [problem] = await diagnose(withRule('10.0.0/8'))
    expect(problem).toMatchObject({
      code: 'bad-value',
      message: '`10.0.0/8` is not a network',
      hint: 'write its first address and the length of its prefix, such as `10.0.0.0/8`',
    })
  })
})
