import {
  type Copy,
  DockerfileParser,
  type Healthcheck,
  type JSONInstruction,
  type PropertyInstruction,
} from 'dockerfile-ast'
import { lines, read } from './files.ts'

export interface Instruction {
  readonly keyword: string
  readonly args: readonly string[]
  /** The stage that a COPY takes from. */
  readonly from?: string
}

export interface Stage {
  readonly image: string
  readonly instructions: readonly Instruction[]
  readonly env: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  /** The arguments of an instruction in exec form; empty when it is there in shell form, or not at all. */
  json(keyword: string): readonly string[]
}

const file = DockerfileParser.parse(read('Dockerfile'))

/** The stages of the Dockerfile: one to build and one to run. */
export function stages(): readonly [Stage, Stage] {
  const all = file.getFROMs().map((from): Stage => {
    const range = from.getRange().start.line
    const last = file.getFROMs().find((other) => other.getRange().start.line > range)
    const end = last?.getRange().start.line ?? Number.POSITIVE_INFINITY
    const own = file
      .getInstructions()
      .filter((one) => one.getRange().start.line > range && one.getRange().start.line < end)
    const properties = (keyword: string): Record<string, string> =>
      Object.fromEntries(
        own
          .filter((one) => one.getKeyword() === keyword)
          .flatMap((one) => (one as PropertyInstruction).getProperties())
          .map((one) => [one.getName(), one.getValue() ?? '']),
      )
    return {
      image: from.getImage() ?? '',
      instructions: own.map((one) => {
        const args = one.getArguments().map((argument) => argument.getValue())
        const from = one.getKeyword() === 'COPY' ? (one as Copy).getFromFlag()?.getValue() : undefined
        return { keyword: one.getKeyword(), args, ...(from == null ? {} : { from }) }
      }),
      env: properties('ENV'),
      labels: properties('LABEL'),
      json: (keyword) => {
        const one = own.find((instruction) => instruction.getKeyword() === keyword) as
          | JSONInstruction
          | undefined
        return (one?.getJSONStrings() ?? []).map((argument) => JSON.parse(argument.getValue()) as string)
      },
    }
  })
  return all as unknown as readonly [Stage, Stage]
}

/** The command of the HEALTHCHECK, in exec form. */
export function healthCommand(): string[] {
  const check = file.getHEALTHCHECKs()[0] as Healthcheck
  const text = /\bCMD (\[.*\])$/s.exec(check.getTextContent())?.[1] ?? '[]'
  return JSON.parse(text) as string[]
}

/** .dockerignore forbids everything and then allows what it names. */
export function isSentToBuilder(path: string): boolean {
  return lines(read('.dockerignore')).includes(`!${path}`)
}
