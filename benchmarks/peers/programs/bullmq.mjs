// BullMQ: a step is a job. A chain and a Map are one flow each, its own form of a graph. There a job has one parent only,
// so in a dag each diamond is a flow of twenty children and their join, added by the step before it when it is done.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { FlowProducer, Queue, Worker } from "bullmq";
import IORedis from "ioredis";

const [role, given] = process.argv.slice(2);
const options = { workers: 1, concurrency: 1, serves: 0, queues: 1, log: "", step_s: 0, lease_s: 0, ...JSON.parse(given) };
const WIDTH = 20;
const TAIL = 10;
const connect = () => new IORedis(options.redis_url, { maxRetriesPerRequest: null });
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");
const note = (what, node) => {
  if (options.log) appendFileSync(options.log, `${what} ${node} ${process.hrtime.bigint()} ${process.pid}\n`);
};

const shared = connect();
const queues = Array.from({ length: options.queues }, (_, number) => new Queue(`steps${number}`, { connection: shared }));
const flows = new FlowProducer({ connection: shared });
const stepOf = (order, node) => ({ name: "step", queueName: `steps${node % options.queues}`, data: { ...order, node } });

function start(order) {
  if (order.shape === "dag") return queues[0].add("step", { ...order, node: 0 });
  if (order.shape === "chain") {
    let job = stepOf(order, 0);
    for (let node = 1; node < order.size; node++) job = { ...stepOf(order, node), children: [job] };
    return flows.add(job);
  }
  const children = Array.from({ length: order.size }, (_, node) => stepOf(order, node));
  return flows.add({ name: "end", queueName: "steps0", data: order, children });
}

async function follow(order, node) {
  const { shape, size } = order;
  const last = shape === "chain" ? size - 1 : size * (WIDTH + 2) + TAIL - 1;
  if (shape === "map" || (shape === "chain" && node !== last)) return;
  if (node === last) return void (await shared.lpush(`bench:ended:${order.run}`, 1));
  const place = node % (WIDTH + 2);
  if (node >= size * (WIDTH + 2) || place === WIDTH + 1) {
    await queues[0].add("step", { ...order, node: node + 1 });
  } else if (place === 0) {
    const children = Array.from({ length: WIDTH }, (_, number) => stepOf(order, node + 1 + number));
    await flows.add({ ...stepOf(order, node + WIDTH + 1), children });
  }
}

async function work(job) {
  const { node, ...order } = job.data;
  if (job.name === "end") return void (await shared.lpush(`bench:ended:${order.run}`, 1));
  note("begin", node);
  if (options.step_s) await new Promise((done) => setTimeout(done, options.step_s * 1000));
  note("end", node);
  await follow(order, node);
}

if (role === "worker") {
  const lease = options.lease_s ? { lockDuration: options.lease_s * 1000, stalledInterval: options.lease_s * 500 } : {};
  const chosen = { connection: connect(), concurrency: options.concurrency, ...lease };
  const worker = new Worker(`steps${options.serves}`, work, chosen);
  worker.on("error", (error) => console.error(error));
  await worker.waitUntilReady();
  say({ ready: true });
} else {
  const waiting = connect();
  say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    const before = performance.now();
    await start(order);
    const submitted = performance.now();
    await waiting.blpop(`bench:ended:${order.run}`, 120);
    say({ seconds: (performance.now() - before) / 1000, submitting: (submitted - before) / 1000 });
  }
  process.exit(0);
}
