/*
 * protocol.h - what a benchmark program and `kelvin bench` say to each other.
 *
 * kelvin bench starts the program with two variables in its environment:
 *
 *     KELVIN_BENCH_FD=3      where to write; the program then prints nothing to standard output
 *     KELVIN_BENCH_ASK="warmup_ms=100 measure_ms=200 samples=20 limit_s=60 filter=sum"
 *
 * ASK is "key=value" words separated by single blanks, in any order; it comes before the command
 * line. Numbers are decimal. Keys that are not known are left alone, so that an old
 * program works under a newer kelvin.
 *
 *     warmup_ms, measure_ms   milliseconds for each benchmark
 *     samples                 how many times its loop is timed
 *     limit_s                 seconds after which a benchmark counts as never ending
 *     list=1                  name what there is, measure nothing
 *     seed                    of generated inputs (equivalence)
 *     inputs                  how many of them
 *     only=NAME               exactly this one; last, as it takes the rest of the line
 *     filter=PATTERN          as --filter; last, as it takes the rest of the line
 *
 * The answer is JSON, an object per line, each written whole. The first is the greeting; a program
 * that does not send it does not use this library. The last is the end; where it is missing
 * the program died.
 *
 *     {"kelvin_bench":1,"program":"./mybench"}
 *     {"name":"sum/n=1000","ns":81.2,"low":80.9,"high":81.6,"cpu_ns":81.1,"overhead_ns":0.3,"r2":0.9998,
 *      "cpu_r2":0.9999,"items":1000,"bytes":4000,"flops":2000,"param":"n","size":1000,"threads":1,"disturbed":0,"sampling":"linear",
 *      "counts":[24,48,...],"times":[1973.1,...]}
 *     {"equal":"dot","ok":true,"cases":1000000,"wanted":1000000,"seed":1}
 *     {"equal":"dot","ok":false,...,"message":"the candidate differs...","code":"KELVIN_..."}
 *     {"race":"dot/n=64","ratio":7.9,"low":7.8,"high":8,"miss":0.0002,"blocks":18,
 *      "reference_ns":37.5,"candidate_ns":4.7,"min_speedup":2,"gate":"holds","ok":true}
 *     {"cliff":"dot","length":64,"message":"cliff: the candidate takes 1.2 us at n=64, ..."}
 *     {"interleave":"queue","ok":true,"schedules":1204,"preemptions":2,"whole":true}
 *     {"interleave":"queue","ok":false,...,"message":"fails under...","schedule":"1x3.2.1"}
 *     {"error":"benchmark 'x' never reaches BENCH_LOOP...","name":"x","exit":1}
 *     {"end":true,"exit":0}
 *
 * ns, low, high: of one iteration, nanoseconds, overhead taken off; the interval is at 95%. ns can
 * be 0; low is 0 where the body cannot be told from an empty loop. cpu_ns: the same in CPU time,
 * the mean of the threads; left out where the body pauses. r2 and cpu_r2: how well the rounds lie
 * on a line, by wall and by CPU time; null or left out where all rounds are of one length. counts,
 * times: iterations and nanoseconds of each timed round as the clock gave them, overhead and all.
 * disturbed: rounds in which another program took the CPU. items, bytes and flops are of one
 * iteration, 0 or left out = not reported. param and size are left out where there is no parameter.
 * With list=1 a benchmark is
 * {"name":...,"param":...,"size":...}. ratio: how many times as fast the candidate of a proof is;
 * the interval misses with the probability `miss`. gate is holds, broken or undecided. Readers
 * leave alone what they do not know.
 */
#pragma once

#define PROTOCOL_VERSION 1
#define PROTOCOL_FD "KELVIN_BENCH_FD"
#define PROTOCOL_ASK "KELVIN_BENCH_ASK"
